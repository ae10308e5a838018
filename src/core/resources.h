// Files that come with the program, found from where it runs: in share/mdsm of an installed one, or in the
// sources above its build folder.
#pragma once

#include <optional>
#include <vector>

#include "core/files.h"

namespace mdsm {

fs::path program_path();  // of the running program

// Folders that may hold models/, configs/ and so on, first to last.
std::vector<fs::path> resource_folders();
// The first of them that has this file or folder.
std::optional<fs::path> find_resource(const fs::path& relative);

}  // namespace mdsm
