#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "sample/checks.h"
#include "restore/measurement.h"
#include "sample/sampler.h"

namespace mdsm::restore {
namespace {

void check_mask(const Mask& mask, const Shape& images) {
  const Shape& m = mask.shape;
  const bool fits = (m.n == 1 || m.n == images.n) && (m.c == 1 || m.c == images.c) && m.h == images.h &&
                    m.w == images.w && mask.known.size() == static_cast<size_t>(m.count());
  if (!fits)
    fail_usage("use a mask of the model's image size", "a mask of {} does not fit images of {}", m.text(),
               images.text());
}

// Calls body(pixel, known) for every pixel of image n.
template <class Body>
void for_pixels(const Mask& mask, int64_t n, const Shape& image, const Body& body) {
  const Shape& m = mask.shape;
  const int64_t plane = m.h * m.w;
  const uint8_t* first = mask.known.data() + (m.n == 1 ? 0 : n) * m.c * plane;
  for (int64_t c = 0; c < image.c; ++c)
    for (int64_t i = 0; i < plane; ++i) body(c * plane + i, first[(m.c == 1 ? 0 : c) * plane + i] != 0);
}

class MaskMeasurement : public LinearMeasurement {
 public:
  explicit MaskMeasurement(Mask mask) : mask_(std::move(mask)) {}
  Shape measured_shape(const Shape& images) const override {
    check_mask(mask_, images);
    return images;
  }
  void project(int64_t i, const float* x, float* out, const Shape& image) const override {
    for_pixels(mask_, i, image, [&](int64_t at, bool known) { out[at] = known ? x[at] : 0.0f; });
  }

 private:
  void measure_one(int64_t i, const float* x, float* y, const Shape& image) const override {
    for_pixels(mask_, i, image, [&](int64_t at, bool known) { y[at] = known ? x[at] : 0.5f; });
  }
  void lift_one(int64_t i, const float* y, float* x, const Shape& image) const override {
    project(i, y, x, image);
  }
  Mask mask_;
};

}  // namespace

bool Mask::at(int64_t n, int64_t c, int64_t y, int64_t x) const {
  const int64_t row = (shape.n == 1 ? 0 : n) * shape.c + (shape.c == 1 ? 0 : c);
  return known[static_cast<size_t>((row * shape.h + y) * shape.w + x)] != 0;
}

double Mask::hidden_share() const {
  const auto hidden = std::ranges::count(known, uint8_t{0});
  return known.empty() ? 0 : static_cast<double>(hidden) / static_cast<double>(known.size());
}

Mask box_mask(int64_t size, int64_t x, int64_t y, int64_t width, int64_t height) {
  // Written so that no sum can overflow.
  const bool inside = x >= 0 && y >= 0 && width > 0 && height > 0 && x < size && y < size &&
                      width <= size - x && height <= size - y;
  if (!inside)
    fail_usage(fmt::format("give x,y,width,height inside {0} x {0} pixels", size),
               "the box {},{},{},{} is empty or leaves the image", x, y, width, height);
  Mask mask{{1, 1, size, size}, std::vector<uint8_t>(static_cast<size_t>(size * size), 1)};
  for (int64_t row = y; row < y + height; ++row)
    std::fill_n(mask.known.begin() + row * size + x, width, uint8_t{0});
  return mask;
}

Mask random_mask(int64_t size, double share, std::span<const uint64_t> seeds) {
  sample::check_range(share, 0, 1, "the share of missing pixels");
  Mask mask{{static_cast<int64_t>(seeds.size()), 1, size, size}, {}};
  for (const uint64_t seed : seeds) {
    auto stream = sample::sample_stream(seed, sample::Draw::mask);
    for (int64_t i = 0; i < size * size; ++i) mask.known.push_back(stream.uniform() >= share);
  }
  return mask;
}

Tensor hide(ConstTensorView images, const Mask& mask) {
  check_mask(mask, images.shape);
  Tensor out(images.shape);
  for (int64_t n = 0; n < images.shape.n; ++n) {
    const auto from = images.image(n);
    const auto to = out.view().image(n);
    for_pixels(mask, n, images.shape, [&](int64_t at, bool known) {
      to[static_cast<size_t>(at)] = known ? from[static_cast<size_t>(at)] : 0.5f;
    });
    if (find_non_finite(to) >= 0) fail("check the image", "a known pixel of image {} is not finite", n);
  }
  return out;
}

void show(ConstTensorView images, const Mask& mask, TensorView out) {
  check_mask(mask, images.shape);
  for (int64_t n = 0; n < images.shape.n; ++n) {
    const auto from = images.image(n);
    const auto to = out.image(n);
    for_pixels(mask, n, images.shape, [&](int64_t at, bool known) {
      if (known) to[static_cast<size_t>(at)] = from[static_cast<size_t>(at)];
    });
  }
}

std::unique_ptr<LinearMeasurement> mask_measurement(Mask mask) {
  return std::make_unique<MaskMeasurement>(std::move(mask));
}

}  // namespace mdsm::restore
