// What `mdsm --version` prints, and the version stamp of run folders.
#pragma once

#include <string>

namespace mdsm::app {

std::string version_text();
std::string version_line();  // its first line

}  // namespace mdsm::app
