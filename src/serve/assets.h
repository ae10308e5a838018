// The page, its scripts and the description of the interface, as they stand in src/serve/page: part of the
// program.
#pragma once

#include <string_view>

namespace mdsm::serve {

struct Asset {
  std::string_view name, content;
};

// Null where there is none of this name.
const Asset* find_asset(std::string_view name);
std::string_view content_type(std::string_view name);  // by its ending

}  // namespace mdsm::serve
