#include "restore/halves.h"

#include <algorithm>

#include "core/round_up.h"

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

// Known pixels of images; in place of the missing ones value(plane of half, row, column).
template <class Value>
Tensor filled(ConstTensorView images, const image::Mask& mask, ConstTensorView half, const Value& value) {
  const Shape &s = images.shape, &from = half.shape;
  Tensor out(s);
  float* to = out.data();
  for (int64_t plane = 0; plane < s.n * s.c; ++plane)
    for (int64_t y = 0; y < s.h; ++y)
      for (int64_t x = 0; x < s.w; ++x) *to++ = value(half.data + plane * from.h * from.w, y, x);
  show(images, mask, out);
  return out;
}

// The missing ones as their 2x2 in half.
Tensor repeated(ConstTensorView images, const image::Mask& mask, ConstTensorView half, int64_t top,
                int64_t left) {
  return filled(images, mask, half, [&](const float* plane, int64_t y, int64_t x) {
    return plane[(top + y) / 2 * half.shape.w + (left + x) / 2];
  });
}

class HalvesMeasurement : public LinearMeasurement {
 public:
  HalvesMeasurement(image::Mask mask, const sample::WindowPlace& place)
      : mask_(std::move(mask)), pixels_(mask_measurement(mask_)), place_(place) {}
  Shape measured_shape(const Shape& images) const override { return pixels_->measured_shape(images); }
  void project(int64_t i, const float* x, float* out, const Shape& image) const override {
    pixels_->project(i, x, out, image);
    for (int64_t c = 0; c < image.c; ++c) {
      const float* from = x + c * image.h * image.w;
      float* to = out + c * image.h * image.w;
      for (int64_t y = place_.top % 2; y < image.h; y += 2)
        for (int64_t column = place_.left % 2; column < image.w; column += 2)
          average(i, c, y, column, from, to, image);
    }
  }

 private:
  // The mean over the 2x2 from (y, x) on, where all of it is missing and seen.
  void average(int64_t i, int64_t c, int64_t y, int64_t x, const float* from, float* to,
               const Shape& image) const {
    const int64_t down = std::min<int64_t>(2, place_.height - place_.top - y),
                  across = std::min<int64_t>(2, place_.width - place_.left - x);
    if (y + down > image.h || x + across > image.w) return;
    float sum = 0;
    for (int64_t at = 0; at < down * across; ++at) {
      const int64_t row = y + at / across, column = x + at % across;
      if (mask_.at(i, c, row, column)) return;
      sum += from[row * image.w + column];
    }
    for (int64_t at = 0; at < down * across; ++at)
      to[(y + at / across) * image.w + x + at % across] = sum / static_cast<float>(down * across);
  }
  void measure_one(int64_t i, const float* x, float* y, const Shape& image) const override {
    project(i, x, y, image);
  }
  void lift_one(int64_t i, const float* y, float* x, const Shape& image) const override {
    project(i, y, x, image);
  }

  image::Mask mask_;
  std::unique_ptr<LinearMeasurement> pixels_;
  sample::WindowPlace place_;
};

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
  const Shape& from = half.shape;
  return filled(images, mask, half, [&](const float* plane, int64_t y, int64_t x) {
    return enlarged(plane, Between(top + y, from.h), Between(left + x, from.w), from.w);
  });
}

std::unique_ptr<LinearMeasurement> halves_measurement(image::Mask mask, const sample::WindowPlace* place) {
  const sample::WindowPlace whole{mask.shape.h, mask.shape.w, 0, 0};
  return std::make_unique<HalvesMeasurement>(std::move(mask), place ? *place : whole);
}

sample::Samples inpaint_finer(const sample::Run& given, ConstTensorView images, const image::Mask& mask,
                              ConstTensorView half, const sample::FastOptions& options) {
  const int64_t top = given.place ? given.place->top : 0, left = given.place ? given.place->left : 0;
  const Tensor known = hide(images, mask);  // from here on nothing can see the missing pixels
  const auto measurement = halves_measurement(mask, given.place);
  const Tensor measured = measurement->lift(repeated(known, mask, half, top, left), known.shape());
  const Tensor start = start_from(given, filled_from_half(known, mask, half, top, left), options.sigma_max);
  sample::Run run = given;
  run.start = start.view();
  sample::Samples samples = restore(run, *measurement, measured, options);
  show(known, mask, samples.x);
  return samples;
}

}  // namespace mdsm::restore
