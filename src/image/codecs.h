// The decoders behind decode_image() and decode_picture(), the encoders behind write_picture(), and the
// limits all of them keep. Internal to src/image.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <variant>
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

// What a file holds, as it lies there: interleaved, with its transparency, still to be turned upright.
struct FileImage {
  using Values = std::variant<std::vector<uint8_t>, std::vector<uint16_t>>;  // 8 or 16 bits a value

  int64_t width = 0, height = 0;
  int64_t channels = 0;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  Values values{};
  int orientation = 1;         // as EXIF counts
  bool premultiplied = false;  // colours have been multiplied by alpha
  std::string profile{};       // ICC, as it is; empty: none

  bool has_alpha() const { return channels % 2 == 0; }
  int64_t colours() const { return has_alpha() ? channels - 1 : channels; }
  int bits() const { return values.index() == 0 ? 8 : 16; }
  const void* data() const {
    return std::visit([](const auto& v) { return static_cast<const void*>(v.data()); }, values);
  }
};

// Room for so many values, of which none takes memory before it is decoded: grow() goes row by row.
void reserve(FileImage::Values& values, int64_t count);
void grow(FileImage::Values& values, int64_t count);
// Whether the pixels take so much more than their file that it is first decoded without keeping them, and a
// damaged one found before they lie in memory. Photographs are packed 10 to 30 times.
constexpr bool packed_much(int64_t pixel_bytes, size_t file_bytes) {
  return pixel_bytes > int64_t{64} << 20 && pixel_bytes / 100 > static_cast<int64_t>(file_bytes);
}

enum class Keep { nothing, pixels };
enum class Depth { eight, own };  // 16 bits are rounded to 8, or kept

using FileBytes = std::span<const std::byte>;
// Any of the formats below, told by its first bytes.
FileImage decode_file(FileBytes file, const std::string& name, Depth depth);

FileImage decode_png(FileBytes file, const std::string& name, Depth depth);
FileImage decode_jpeg(FileBytes file, const std::string& name);
FileImage decode_tiff(FileBytes file, const std::string& name, Depth depth);
FileImage decode_webp(FileBytes file, const std::string& name);

void write_png(const fs::path& path, const FileImage& image, const std::map<std::string, std::string>& text);
void write_tiff(const fs::path& path, const FileImage& image, const std::map<std::string, std::string>& text);

// Whether an ICC profile is one for images of 1 (grey) or 3 (RGB) colours; those of others would mislead.
bool profile_fits(const std::string& profile, int64_t colours);
constexpr size_t kMaxProfile = size_t{16} << 20;  // what is larger is left out

}  // namespace mdsm::image
