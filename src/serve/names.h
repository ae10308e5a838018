// Names from requests. A request never gives a path of its own making: it gives names of things that lie
// under the root, and what they lead to, links included, must lie there too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"

namespace mdsm::serve {

// Letters, digits, dots, dashes and underscores, at most 120, not beginning with a dot or a dash.
bool is_plain_name(std::string_view name);

// The parts of a path between slashes; none where one of them is no plain name.
std::vector<std::string> plain_parts(std::string_view path);

// ROOT/folder/path if it exists and no link leads out of ROOT/folder; a plain path.
std::optional<fs::path> inside(const fs::path& folder, std::string_view path);

}  // namespace mdsm::serve
