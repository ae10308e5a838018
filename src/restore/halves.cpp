#include "restore/halves.h"

#include <algorithm>

#include "core/round_up.h"
#include "restore/measurement.h"

namespace mdsm::restore {
namespace {

// The sum and the number of the known pixels of one 2x2, and how many pixels it has at the edge of a picture.
struct Cell {
  double sum = 0;
  int known = 0, pixels = 0;
  bool is_known() const { return known > 0 && 2 * known >= pixels; }
};

Cell cell_of(const float* plane, const image::Mask& mask, int64_t n, int64_t c, int64_t row, int64_t column) {
  Cell cell;
  const int64_t h = mask.shape.h, w = mask.shape.w;
  for (int64_t y = 2 * row; y < std::min(2 * row + 2, h); ++y)
    for (int64_t x = 2 * column; x < std::min(2 * column + 2, w); ++x, ++cell.pixels)
      if (mask.at(n, c, y, x)) {
        cell.sum += static_cast<double>(plane[y * w + x]);
        ++cell.known;
      }
  return cell;
}

// Two neighbours along an axis, the nearer of which has weight 3/4.
struct Between {
  int64_t near = 0, far = 0;
  Between(int64_t pixel, int64_t size)
      : near(pixel / 2), far(std::clamp<int64_t>(pixel % 2 == 0 ? near - 1 : near + 1, 0, size - 1)) {}
};

float enlarged(const float* plane, const Between& row, const Between& column, int64_t width) {
  const auto along = [&](int64_t y) {
    return 0.75f * plane[y * width + column.near] + 0.25f * plane[y * width + column.far];
  };
  return 0.75f * along(row.near) + 0.25f * along(row.far);
}

}  // namespace

int64_t halvings(const Shape& image, int64_t trained) {
  int64_t count = 0;
  for (int64_t side = std::min(image.h, image.w); side * side > 2 * trained * trained;
       side = divided_up(side, 2))
    ++count;
  return count;
}

Halved halved(ConstTensorView images, const image::Mask& mask) {
  const Shape &s = images.shape, &m = mask.shape;
  const int64_t h = divided_up(s.h, 2), w = divided_up(s.w, 2);
  Halved out{Tensor({s.n, s.c, h, w}, 0.5f), {{m.n, m.c, h, w}, {}}};
  out.mask.known.resize(static_cast<size_t>(out.mask.shape.count()));
  float* to = out.images.data();
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t y = 0; y < h; ++y)
        for (int64_t x = 0; x < w; ++x, ++to) {
          const Cell cell = cell_of(images.data + (n * s.c + c) * s.h * s.w, mask, n, c, y, x);
          if (cell.is_known()) *to = static_cast<float>(cell.sum / cell.known);
          if (n < m.n && c < m.c)
            out.mask.known[static_cast<size_t>(((n * m.c + c) * h + y) * w + x)] = cell.is_known();
        }
  return out;
}

Tensor filled_from_half(ConstTensorView images, const image::Mask& mask, ConstTensorView half, int64_t top,
                        int64_t left) {
  const Shape &s = images.shape, &from = half.shape;
  Tensor out(s);
  float* to = out.data();
  for (int64_t plane = 0; plane < s.n * s.c; ++plane)
    for (int64_t y = 0; y < s.h; ++y) {
      const Between row(top + y, from.h);
      for (int64_t x = 0; x < s.w; ++x)
        *to++ = enlarged(half.data + plane * from.h * from.w, row, Between(left + x, from.w), from.w);
    }
  show(images, mask, out);
  return out;
}

}  // namespace mdsm::restore
