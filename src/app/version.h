// What `mdsm --version` prints, and the version stamp of run folders.
#pragma once

#include <string>

namespace mdsm::app {

std::string version_text();

}  // namespace mdsm::app
