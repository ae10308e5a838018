// Making, reading and converting images; the formats themselves are in png.cpp and jpeg.cpp.
#include "image/image.h"

#include <cstring>

#include "core/error.h"
#include "image/codecs.h"

namespace mdsm::image {
namespace {

bool starts_with(std::span<const std::byte> file, std::string_view signature) {
  return file.size() >= signature.size() && std::memcmp(file.data(), signature.data(), signature.size()) == 0;
}

}  // namespace

void check_image_size(int64_t width, int64_t height, int64_t channels, const std::string& name) {
  if (width < 1 || height < 1) fail("use another file", "{}: an image of {}x{} pixels", name, width, height);
  if (width > kMaxSide || height > kMaxSide || width * height * channels > kMaxImageBytes)
    fail(fmt::format("at most {} pixels a side and 1 GiB are written", kMaxSide),
         "{}: {}x{} pixels are too many", name, width, height);
}

void check_read_size(int64_t width, int64_t height, const std::string& name) {
  if (width < 1 || height < 1) fail("use another file", "{}: an image of {}x{} pixels", name, width, height);
  if (width > kMaxSide || height > kMaxSide || width * height > kMaxPixelsRead)
    fail(fmt::format("at most {} pixels a side and {} in all are read", kMaxSide, kMaxPixelsRead),
         "{}: {}x{} pixels are too many", name, width, height);
}

Image make_image(int64_t width, int64_t height, int64_t channels, uint8_t fill) {
  check_image_size(width, height, channels, "new image");
  if (channels != 1 && channels != 3) fail("use 1 or 3", "an image cannot have {} channels", channels);
  return {width, height, channels,
          std::vector<uint8_t>(static_cast<size_t>(width * height * channels), fill)};
}

Image decode_image(std::span<const std::byte> file, const std::string& name) {
  if (file.empty()) fail("use another file", "{}: the file is empty", name);
  if (starts_with(file, "\x89PNG\r\n\x1a\n")) return decode_png(file, name);
  if (starts_with(file, "\xff\xd8\xff")) return decode_jpeg(file, name);
  fail("convert it to one of them", "{}: neither PNG nor JPEG", name);
}

Image read_image(const fs::path& path) { return decode_image(read_bytes(path), path.string()); }

Image to_grey(const Image& image) {
  if (image.channels == 1) return image;
  Image out = make_image(image.width, image.height, 1);
  for (size_t i = 0; i < out.pixels.size(); ++i)
    out.pixels[i] = luma(image.pixels[3 * i], image.pixels[3 * i + 1], image.pixels[3 * i + 2]);
  return out;
}

Image to_rgb(const Image& image) {
  if (image.channels == 3) return image;
  Image out = make_image(image.width, image.height, 3);
  for (size_t i = 0; i < out.pixels.size(); ++i) out.pixels[i] = image.pixels[i / 3];
  return out;
}

}  // namespace mdsm::image
