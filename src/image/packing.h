// zlib's format in memory, for the parts of image files that are packed so. Internal to src/image.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace mdsm::image {

std::string packed(const std::string& bytes);
// Empty where it is damaged or holds more than `most` bytes.
std::string unpacked(std::span<const std::byte> bytes, size_t most);

}  // namespace mdsm::image
