// TOML from outside, as JSON: what a configuration can hold, and no deeper than one could mean.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mdsm {

// A table. where: the file, for messages.
nlohmann::json parse_toml(const std::string& text, const std::string& where);

}  // namespace mdsm
