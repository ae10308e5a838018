// Files that come with the program or the library: in share/mdsm of the tree they are installed in, which may
// be moved as a whole. A build folder has the same tree.
#pragma once

#include <optional>
#include <vector>

#include "core/files.h"

namespace mdsm {

fs::path program_path();  // of the running program
// Of the file that holds this code: libmdsm.so, or the program where it is part of that.
fs::path library_path();

// Folders that may hold models/, configs/ and so on, first to last.
std::vector<fs::path> resource_folders();
// The first of them that has this file or folder.
std::optional<fs::path> find_resource(const fs::path& relative);

}  // namespace mdsm
