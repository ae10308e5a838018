// The decoders behind decode_image(), and the limits both keep. Internal to src/image.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "image/image.h"

namespace mdsm::image {

constexpr int64_t kMaxSide = 32768;
constexpr int64_t kMaxImageBytes = int64_t{1} << 30;  // of what is written
constexpr int64_t kMaxPixelsRead = int64_t{1} << 26;  // a few bytes can claim, and even be, more

// Refuses sizes that no data set has and that only a damaged or hostile header claims.
void check_image_size(int64_t width, int64_t height, int64_t channels, const std::string& name);
// The same of a file that is to be read, before memory is asked for.
void check_read_size(int64_t width, int64_t height, const std::string& name);

// 16 bits a value, interleaved. orientation: as EXIF counts, still to be applied.
struct DeepImage {
  int64_t width = 0, height = 0, channels = 0;
  int orientation = 1;
  std::vector<uint16_t> values;
};

// None where the file has 8 bits a value or less.
std::optional<DeepImage> decode_deep_png(std::span<const std::byte> file, const std::string& name);
void write_deep_png(const fs::path& path, const DeepImage& image,
                    const std::map<std::string, std::string>& text);
Image decode_png(std::span<const std::byte> file, const std::string& name);
Image decode_jpeg(std::span<const std::byte> file, const std::string& name);

}  // namespace mdsm::image
