#include "image/picture.h"

#include "core/error.h"
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

}  // namespace

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
  return {to, std::visit([&](const auto& values) { return PixelValues(resized(values, picture.shape, to)); },
                         picture.values)};
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
