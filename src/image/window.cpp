#include "image/window.h"

#include <algorithm>
#include <type_traits>

namespace mdsm::image {
namespace {

template <class T>
std::vector<T> cut_planes(const std::vector<T>& values, const Shape& s, const PixelBox& box) {
  std::vector<T> out;
  out.reserve(static_cast<size_t>(s.c * box.height * box.width));
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t y = box.y; y < box.y + box.height; ++y) {
      const auto row = values.begin() + (c * s.h + y) * s.w + box.x;
      out.insert(out.end(), row, row + box.width);
    }
  return out;
}

}  // namespace

Picture blank(const Picture& like, const Shape& shape) {
  Picture colourless{{1, 0, like.shape.h, like.shape.w}, {}, like.kept};
  std::visit([&](const auto& values) { colourless.values = std::decay_t<decltype(values)>(); }, like.values);
  Picture out = resize(colourless, shape.w, shape.h);  // its transparency
  out.shape = shape.with_n(1);
  std::visit([&](auto& values) { values.resize(static_cast<size_t>(out.shape.count())); }, out.values);
  return out;
}

Picture cut(const Picture& picture, const PixelBox& box) {
  Picture out{{1, picture.shape.c, box.height, box.width}, {}, {}};
  out.kept.bits = picture.kept.bits;
  std::visit([&](const auto& values) { out.values = cut_planes(values, picture.shape, box); },
             picture.values);
  return out;
}

Mask cut(const Mask& mask, const PixelBox& box) {
  return {{1, 1, box.height, box.width}, cut_planes(mask.known, mask.shape, box)};
}

void paste(ConstTensorView values, const PixelBox& box, Picture& picture, const Mask* only) {
  const Shape& s = picture.shape;
  std::visit(
      [&](auto& to) {
        using T = typename std::decay_t<decltype(to)>::value_type;
        const float* from = values.data;
        for (int64_t c = 0; c < s.c; ++c)
          for (int64_t y = box.y; y < box.y + box.height; ++y)
            for (int64_t x = box.x; x < box.x + box.width; ++x) {
              const float value = std::clamp(*from++, 0.0f, 1.0f);
              if (only && only->at(0, 0, y, x)) continue;
              T& pixel = to[static_cast<size_t>((c * s.h + y) * s.w + x)];
              if constexpr (std::is_same_v<T, uint8_t>)
                pixel = to_byte(value);
              else
                pixel = value;
            }
      },
      picture.values);
}

}  // namespace mdsm::image
