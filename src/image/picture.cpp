#include "image/picture.h"

#include <algorithm>

#include "core/error.h"
#include "image/codecs.h"
#include "image/exif.h"
#include "image/raster.h"

namespace mdsm::image {
namespace {

Image interleaved(const Shape& s, const std::vector<uint8_t>& planes) {
  Image image = make_image(s.w, s.h, s.c);
  const int64_t plane = s.h * s.w;
  for (int64_t p = 0; p < plane; ++p)
    for (int64_t c = 0; c < s.c; ++c)
      image.pixels[static_cast<size_t>(p * s.c + c)] = planes[static_cast<size_t>(c * plane + p)];
  return image;
}

template <class T>
std::vector<T> resized(const std::vector<T>& values, const Shape& from, const Shape& to) {
  std::vector<T> out(static_cast<size_t>(to.count()));
  for (int64_t c = 0; c < from.c; ++c)
    resize_raster(Raster<const T>{values.data() + c * from.h * from.w, from.w, from.h, 1},
                  Raster<T>{out.data() + c * to.h * to.w, to.w, to.h, 1});
  return out;
}

bool is_png(std::span<const std::byte> file) { return file.size() > 4 && file[1] == std::byte{'P'}; }

// Upright planes in [0,1].
Picture to_picture(const DeepImage& image) {
  const bool turned = swaps_sides(image.orientation);
  const Shape shape{1, image.channels, turned ? image.width : image.height,
                    turned ? image.height : image.width};
  std::vector<float> planes(image.values.size());
  const uint16_t* from = image.values.data();
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x) {
      const Place to = upright_place(image.orientation, image.width, image.height, x, y);
      for (int64_t c = 0; c < image.channels; ++c)
        planes[static_cast<size_t>((c * shape.h + to.y) * shape.w + to.x)] =
            static_cast<float>(*from++) / 65535.0f;
    }
  return {shape, std::move(planes), 16};
}

DeepImage to_deep(const Shape& s, const std::vector<float>& planes) {
  DeepImage image{s.w, s.h, s.c, 1, std::vector<uint16_t>(planes.size())};
  const auto plane = static_cast<size_t>(s.h * s.w), channels = static_cast<size_t>(s.c);
  for (size_t p = 0; p < plane; ++p)
    for (size_t c = 0; c < channels; ++c)
      image.values[p * channels + c] =
          static_cast<uint16_t>(std::clamp(planes[c * plane + p], 0.0f, 1.0f) * 65535.0f + 0.5f);
  return image;
}

}  // namespace

Picture decode_picture(std::span<const std::byte> file, const std::string& name) {
  if (is_png(file))
    if (const auto deep = decode_deep_png(file, name)) return to_picture(*deep);
  return to_picture(decode_image(file, name));
}

Picture read_picture(const fs::path& path) { return decode_picture(read_bytes(path), path.string()); }

void write_picture(const fs::path& path, const Picture& picture,
                   const std::map<std::string, std::string>& text) {
  const auto* floats = std::get_if<std::vector<float>>(&picture.values);
  if (picture.bits == 16 && floats)
    write_deep_png(path, to_deep(picture.shape, *floats), text);
  else
    write_png(path, to_image(picture), text);
}

std::vector<uint8_t> planes_of(const Image& image) {
  std::vector<uint8_t> planes(image.pixels.size());
  const int64_t plane = image.width * image.height;
  for (int64_t p = 0; p < plane; ++p)
    for (int64_t c = 0; c < image.channels; ++c)
      planes[static_cast<size_t>(c * plane + p)] = image.pixels[static_cast<size_t>(p * image.channels + c)];
  return planes;
}

Picture to_picture(const Image& image) {
  return {{1, image.channels, image.height, image.width}, planes_of(image)};
}

Picture to_picture(const Tensor& one) {
  return {one.shape(), std::vector<float>(one.values().begin(), one.values().end())};
}

Image to_image(const Picture& picture) {
  if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&picture.values))
    return interleaved(picture.shape, *bytes);
  return to_image(ConstTensorView{std::get<std::vector<float>>(picture.values).data(), picture.shape});
}

Picture resize(const Picture& picture, int64_t width, int64_t height) {
  const Shape to{1, picture.shape.c, height, width};
  if (to == picture.shape) return picture;
  return {to,
          std::visit([&](const auto& values) { return PixelValues(resized(values, picture.shape, to)); },
                     picture.values),
          picture.bits};
}

void blacken(Picture& picture, const Mask& mask) {
  const Shape& s = picture.shape;
  if (mask.shape != Shape{1, 1, s.h, s.w})
    fail("this is a bug in the caller", "a mask of {} for a picture of {}", mask.shape.text(), s.text());
  std::visit(
      [&](auto& values) {
        for (size_t i = 0; i < values.size(); ++i)
          if (!mask.known[i % mask.known.size()]) values[i] = 0;
      },
      picture.values);
}

}  // namespace mdsm::image
