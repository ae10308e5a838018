// Missing pixels as a measurement.
#include "core/error.h"
#include "restore/measurement.h"

namespace mdsm::restore {
namespace {

void check_mask(const image::Mask& mask, const Shape& images) {
  const Shape& m = mask.shape;
  const bool fits = (m.n == 1 || m.n == images.n) && (m.c == 1 || m.c == images.c) && m.h == images.h &&
                    m.w == images.w && mask.known.size() == static_cast<size_t>(m.count());
  if (!fits)
    fail_usage("use a mask of the model's image size", "a mask of {} does not fit images of {}", m.text(),
               images.text());
}

// Calls body(pixel, known) for every pixel of image n.
template <class Body>
void for_pixels(const image::Mask& mask, int64_t n, const Shape& image, const Body& body) {
  const Shape& m = mask.shape;
  const int64_t plane = m.h * m.w;
  const uint8_t* first = mask.known.data() + (m.n == 1 ? 0 : n) * m.c * plane;
  for (int64_t c = 0; c < image.c; ++c)
    for (int64_t i = 0; i < plane; ++i) body(c * plane + i, first[(m.c == 1 ? 0 : c) * plane + i] != 0);
}

class MaskMeasurement : public LinearMeasurement {
 public:
  explicit MaskMeasurement(image::Mask mask) : mask_(std::move(mask)) {}
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
  image::Mask mask_;
};

}  // namespace

Tensor hide(ConstTensorView images, const image::Mask& mask) {
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

void show(ConstTensorView images, const image::Mask& mask, TensorView out) {
  check_mask(mask, images.shape);
  for (int64_t n = 0; n < images.shape.n; ++n) {
    const auto from = images.image(n);
    const auto to = out.image(n);
    for_pixels(mask, n, images.shape, [&](int64_t at, bool known) {
      if (known) to[static_cast<size_t>(at)] = from[static_cast<size_t>(at)];
    });
  }
}

std::unique_ptr<LinearMeasurement> mask_measurement(image::Mask mask) {
  return std::make_unique<MaskMeasurement>(std::move(mask));
}

}  // namespace mdsm::restore
