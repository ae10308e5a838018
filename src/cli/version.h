// What `mdsm --version` prints, and the version stamp of run folders.
#pragma once

#include <string>

namespace mdsm::cli {

std::string version_text();

}  // namespace mdsm::cli
