// Which decoder reads a file, and what becomes of its transparency and its orientation in an 8-bit image.
#include <cstring>

#include "core/error.h"
#include "image/codecs.h"
#include "image/exif.h"

namespace mdsm::image {
namespace {

bool has(FileBytes file, std::string_view signature, size_t at = 0) {
  return file.size() >= at + signature.size() &&
         std::memcmp(file.data() + at, signature.data(), signature.size()) == 0;
}

bool is_png(FileBytes file) { return has(file, "\x89PNG\r\n\x1a\n"); }
bool is_jpeg(FileBytes file) { return has(file, "\xff\xd8\xff"); }
bool is_webp(FileBytes file) { return has(file, "RIFF") && has(file, "WEBP", 8); }
bool is_tiff(FileBytes file) {
  using namespace std::string_view_literals;
  return has(file, "II*\0"sv) || has(file, "MM\0*"sv) || has(file, "II+\0"sv) || has(file, "MM\0+"sv);
}

// Alpha is composited on black, the value that padding has; in place, as a pixel only becomes shorter.
std::vector<uint8_t> without_alpha(FileImage& image) {
  auto values = std::get<std::vector<uint8_t>>(std::move(image.values));
  if (!image.has_alpha()) return values;
  const int64_t colours = image.colours();
  const uint8_t* from = values.data();
  uint8_t* to = values.data();
  for (int64_t i = 0; i < image.width * image.height; ++i, from += image.channels) {
    const int opacity = image.premultiplied ? 255 : from[colours];
    for (int64_t c = 0; c < colours; ++c) *to++ = static_cast<uint8_t>((from[c] * opacity + 127) / 255);
  }
  values.resize(static_cast<size_t>(to - values.data()));
  return values;
}

}  // namespace

bool begins_as_image(FileBytes start) {
  return is_png(start) || is_jpeg(start) || is_tiff(start) || is_webp(start);
}

FileImage decode_file(FileBytes file, const std::string& name, Depth depth) {
  if (file.empty()) fail("use another file", "{}: the file is empty", name);
  if (is_png(file)) return decode_png(file, name, depth);
  if (is_jpeg(file)) return decode_jpeg(file, name);
  if (is_tiff(file)) return decode_tiff(file, name, depth);
  if (is_webp(file)) return decode_webp(file, name);
  fail("convert it to one of them", "{}: neither PNG nor JPEG, TIFF or WebP", name);
}

Image decode_image(FileBytes file, const std::string& name) {
  FileImage image = decode_file(file, name, Depth::eight);
  const int64_t colours = image.colours();
  return upright({image.width, image.height, colours, without_alpha(image)}, image.orientation);
}

Image read_image(const fs::path& path) { return decode_image(read_bytes(path), path.string()); }

bool profile_fits(const std::string& profile, int64_t colours) {
  constexpr size_t kHeader = 128, kSpace = 16;
  return profile.size() >= kHeader && profile.compare(kSpace, 4, colours == 1 ? "GRAY" : "RGB ") == 0;
}

}  // namespace mdsm::image
