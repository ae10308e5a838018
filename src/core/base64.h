// Bytes as text for pictures inside SVG and HTML.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace mdsm {

std::string base64(std::span<const std::byte> bytes);

}  // namespace mdsm
