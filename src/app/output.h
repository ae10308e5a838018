// Small helpers of commands that write files and print figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"

namespace mdsm::app {

// Refuses to replace an existing file unless --force was given.
void check_output(const fs::path& path, bool force);
// A folder of results: refuses a file of that name, and to replace any of the files without --force.
void check_outputs(const fs::path& folder, const std::vector<std::string>& names, bool force);
// Says before the work, not after it, that the folder of an output file is missing. Empty paths pass.
void check_folder_of(const fs::path& path);

std::string grouped(int64_t number);  // "1 234 567"

}  // namespace mdsm::app
