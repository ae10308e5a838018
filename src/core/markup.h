// Text for SVG and HTML.
#pragma once

#include <string>
#include <string_view>

namespace mdsm {

// With & < > " written as entities, for text and attributes. What XML does not allow becomes a space: of the
// control characters it has only tab and line breaks.
std::string escape_markup(std::string_view text);

}  // namespace mdsm
