// Bytes as text for pictures inside SVG, HTML and JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mdsm {

std::string base64(std::span<const std::byte> bytes);
// The other way, with or without padding; a usage error where the text is none. name: for messages.
std::vector<std::byte> from_base64(std::string_view text, const std::string& name);

}  // namespace mdsm
