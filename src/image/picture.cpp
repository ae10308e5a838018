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

// Upright planes of a file's values, each turned into T, and its transparency.
template <class T, class Value, class Turn>
std::vector<T> planes(const FileImage& image, const std::vector<Value>& values, const Shape& shape,
                      const Turn& turn, std::vector<uint16_t>& alpha) {
  std::vector<T> out(static_cast<size_t>(shape.count()));
  if (image.has_alpha()) alpha.resize(static_cast<size_t>(shape.h * shape.w));
  const Value* from = values.data();
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x) {
      const Place to = upright_place(image.orientation, image.width, image.height, x, y);
      for (int64_t c = 0; c < shape.c; ++c)
        out[static_cast<size_t>((c * shape.h + to.y) * shape.w + to.x)] = turn(*from++);
      if (image.has_alpha()) alpha[static_cast<size_t>(to.y * shape.w + to.x)] = *from++;
    }
  return out;
}

Picture to_picture(FileImage image) {
  const bool turned = swaps_sides(image.orientation);
  Picture out{{1, image.colours(), turned ? image.width : image.height, turned ? image.height : image.width},
              {},
              {image.bits(), {}, image.premultiplied, std::move(image.profile)}};
  if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&image.values))
    out.values = planes<uint8_t>(
        image, *bytes, out.shape, [](uint8_t v) { return v; }, out.kept.alpha);
  else
    out.values = planes<float>(
        image, std::get<std::vector<uint16_t>>(image.values), out.shape,
        [](uint16_t v) { return static_cast<float>(v) / 65535.0f; }, out.kept.alpha);
  return out;
}

template <class Value, class From, class Turn>
std::vector<Value> pixels(const Picture& picture, const std::vector<From>& planes, const Turn& turn) {
  const auto plane = static_cast<size_t>(picture.shape.h * picture.shape.w);
  const auto colours = static_cast<size_t>(picture.shape.c);
  const std::vector<uint16_t>& alpha = picture.kept.alpha;
  std::vector<Value> out(planes.size() + alpha.size());
  Value* to = out.data();
  for (size_t p = 0; p < plane; ++p) {
    for (size_t c = 0; c < colours; ++c) *to++ = turn(planes[c * plane + p]);
    if (!alpha.empty()) *to++ = static_cast<Value>(alpha[p]);
  }
  return out;
}

// A float as a value of a file, up to `full`.
auto rounded(float full) {
  return [full](float value) { return std::clamp(value, 0.0f, 1.0f) * full + 0.5f; };
}

FileImage to_file(const Picture& picture) {
  const Shape& s = picture.shape;
  const Kept& kept = picture.kept;
  FileImage image{s.w, s.h, s.c + (kept.alpha.empty() ? 0 : 1)};
  image.premultiplied = kept.premultiplied;
  image.profile = kept.profile;
  if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&picture.values))
    image.values = pixels<uint8_t>(picture, *bytes, [](uint8_t v) { return v; });
  else if (const auto& floats = std::get<std::vector<float>>(picture.values); kept.bits == 16)
    image.values = pixels<uint16_t>(
        picture, floats, [turn = rounded(65535)](float v) { return static_cast<uint16_t>(turn(v)); });
  else
    image.values = pixels<uint8_t>(picture, floats, to_byte);
  return image;
}

std::vector<uint16_t> resized_alpha(const std::vector<uint16_t>& alpha, const Shape& from, const Shape& to) {
  if (alpha.empty()) return {};
  const std::vector<float> values(alpha.begin(), alpha.end());
  const Shape plane{1, 1, from.h, from.w}, larger{1, 1, to.h, to.w};
  std::vector<uint16_t> out;
  for (const float value : resized(values, plane, larger)) out.push_back(static_cast<uint16_t>(value + 0.5f));
  return out;
}

}  // namespace

Picture decode_picture(FileBytes file, const std::string& name) {
  return to_picture(decode_file(file, name, Depth::own));
}

Picture read_picture(const fs::path& path) { return decode_picture(read_bytes(path), path.string()); }

bool is_tiff_name(const fs::path& path) {
  std::string end = path.extension().string();
  std::ranges::transform(end, end.begin(), [](unsigned char c) { return std::tolower(c); });
  return end == ".tif" || end == ".tiff";
}

void write_picture(const fs::path& path, const Picture& picture,
                   const std::map<std::string, std::string>& text) {
  is_tiff_name(path) ? write_tiff(path, to_file(picture), text) : write_png(path, to_file(picture), text);
}

std::vector<uint8_t> planes_of(const Image& image) {
  std::vector<uint8_t> planes(image.pixels.size());
  const int64_t plane = image.width * image.height;
  for (int64_t p = 0; p < plane; ++p)
    for (int64_t c = 0; c < image.channels; ++c)
      planes[static_cast<size_t>(c * plane + p)] = image.pixels[static_cast<size_t>(p * image.channels + c)];
  return planes;
}

Picture to_picture(Image image) {
  const Shape shape{1, image.channels, image.height, image.width};
  return {shape, image.channels == 1 ? std::move(image.pixels) : planes_of(image)};
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
  Kept kept = picture.kept;
  kept.alpha = resized_alpha(kept.alpha, picture.shape, to);
  return {to,
          std::visit([&](const auto& values) { return PixelValues(resized(values, picture.shape, to)); },
                     picture.values),
          std::move(kept)};
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
