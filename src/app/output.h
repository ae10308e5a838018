// Small helpers of commands that write files and print figures.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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

// JSON to a file; file names in it that are no UTF-8 do not stop it.
void write_json(const fs::path& path, const nlohmann::json& values, int indent = 1);

std::string grouped(int64_t number);  // "1 234 567"

}  // namespace mdsm::app
