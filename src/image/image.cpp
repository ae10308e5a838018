// Making and converting images; decode.cpp reads them.
#include "image/image.h"

#include <algorithm>

#include "core/error.h"
#include "image/codecs.h"

namespace mdsm::image {

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

void reserve(FileImage::Values& values, int64_t count) {
  std::visit([&](auto& v) { v.reserve(static_cast<size_t>(count)); }, values);
}

void grow(FileImage::Values& values, int64_t count) {
  std::visit([&](auto& v) { v.resize(std::max(v.size(), static_cast<size_t>(count))); }, values);
}

Image make_image(int64_t width, int64_t height, int64_t channels, uint8_t fill) {
  check_image_size(width, height, channels, "new image");
  if (channels != 1 && channels != 3) fail("use 1 or 3", "an image cannot have {} channels", channels);
  return {width, height, channels,
          std::vector<uint8_t>(static_cast<size_t>(width * height * channels), fill)};
}

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
