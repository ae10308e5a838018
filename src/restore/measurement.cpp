#include "restore/measurement.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "restore/fourier.h"
#include "sample/checks.h"

namespace mdsm::restore {

Tensor LinearMeasurement::measure(ConstTensorView x) const {
  Tensor y(measured_shape(x.shape));
  for (int64_t i = 0; i < x.shape.n; ++i)
    measure_one(i, x.image(i).data(), y.view().image(i).data(), x.shape.with_n(1));
  return y;
}

Tensor LinearMeasurement::lift(ConstTensorView y, const Shape& images) const {
  const Shape wanted = measured_shape(images);
  if (y.shape != wanted)
    fail_usage("fit the images to the problem", "measured images have shape {} instead of {}", y.shape.text(),
               wanted.text());
  Tensor x(images);
  for (int64_t i = 0; i < images.n; ++i)
    lift_one(i, y.image(i).data(), x.view().image(i).data(), images.with_n(1));
  return x;
}

namespace {

// Means of blocks. M⁺ repeats each mean over its block, so P replaces every pixel by its block's mean.
class BlockMean : public LinearMeasurement {
 public:
  explicit BlockMean(int64_t factor) : factor_(factor) {}
  Shape measured_shape(const Shape& images) const override {
    if (images.h % factor_ != 0 || images.w % factor_ != 0)
      fail_usage("use a divisor of the image size", "the factor {} does not divide {} x {} pixels", factor_,
                 images.w, images.h);
    return {images.n, images.c, images.h / factor_, images.w / factor_};
  }
  void project(int64_t i, const float* x, float* out, const Shape& image) const override {
    std::vector<float> means(static_cast<size_t>(measured_shape(image).per_image()));
    measure_one(i, x, means.data(), image);
    lift_one(i, means.data(), out, image);
  }

 private:
  void measure_one(int64_t, const float* x, float* y, const Shape& image) const override {
    const Shape small = measured_shape(image);
    std::vector<double> sums(static_cast<size_t>(small.per_image()));
    for_pixels(image, [&](int64_t pixel, int64_t block) { sums[static_cast<size_t>(block)] += x[pixel]; });
    for (size_t i = 0; i < sums.size(); ++i)
      y[i] = static_cast<float>(sums[i] / static_cast<double>(factor_ * factor_));
  }
  void lift_one(int64_t, const float* y, float* x, const Shape& image) const override {
    for_pixels(image, [&](int64_t pixel, int64_t block) { x[pixel] = y[block]; });
  }
  template <class Body>
  void for_pixels(const Shape& image, const Body& body) const {
    const int64_t rows = image.c * image.h, columns = image.w / factor_;  // the factor divides h
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < image.w; ++x) body(y * image.w + x, y / factor_ * columns + x / factor_);
  }
  int64_t factor_;
};

// A convolution with wrapped edges is a product in the Fourier domain, so P keeps the frequencies that the
// kernel lets through and M⁺ divides by it there.
class Blur : public LinearMeasurement {
 public:
  Blur(const Kernel& kernel, int64_t height, int64_t width, double threshold)
      : height_(height), width_(width), fourier_(height, width) {
    std::vector<float> wrapped(static_cast<size_t>(height * width));
    for (int64_t y = 0; y < kernel.rows; ++y)
      for (int64_t x = 0; x < kernel.columns; ++x) {
        const int64_t row = (y - kernel.rows / 2 + height) % height,
                      column = (x - kernel.columns / 2 + width) % width;
        wrapped[static_cast<size_t>(row * width + column)] +=
            kernel.values[static_cast<size_t>(y * kernel.columns + x)];
      }
    spectrum_ = fourier_.forward(wrapped.data());
    double strongest = 0;
    for (const auto& s : spectrum_) strongest = std::max(strongest, std::abs(s));
    if (!(strongest > 0)) fail_usage("use one with a value in it", "the blur kernel is zero everywhere");
    for (const auto& s : spectrum_) passes_.push_back(std::abs(s) >= threshold * strongest);
  }
  Shape measured_shape(const Shape& images) const override {
    if (images.h != height_ || images.w != width_)
      fail_usage("fit the images to the model", "a blur of {} x {} pixels was given images of {}", width_,
                 height_, images.text());
    return images;
  }
  void project(int64_t, const float* x, float* out, const Shape& image) const override {
    apply(x, out, image, [&](size_t i, Fourier::Complex v) { return passes_[i] ? v : 0.0; });
  }

 private:
  void measure_one(int64_t, const float* x, float* y, const Shape& image) const override {
    apply(x, y, image, [&](size_t i, Fourier::Complex v) { return v * spectrum_[i]; });
  }
  void lift_one(int64_t, const float* y, float* x, const Shape& image) const override {
    apply(y, x, image, [&](size_t i, Fourier::Complex v) { return passes_[i] ? v / spectrum_[i] : 0.0; });
  }
  template <class Filter>
  void apply(const float* in, float* out, const Shape& image, const Filter& filter) const {
    for (int64_t c = 0; c < image.c; ++c) {
      auto values = fourier_.forward(in + c * height_ * width_);
      for (size_t i = 0; i < values.size(); ++i) values[i] = filter(i, values[i]);
      fourier_.inverse(std::move(values), out + c * height_ * width_);
    }
  }
  int64_t height_, width_;
  Fourier fourier_;
  std::vector<Fourier::Complex> spectrum_;  // of the kernel
  std::vector<uint8_t> passes_;
};

}  // namespace

std::unique_ptr<LinearMeasurement> block_mean_measurement(int64_t factor) {
  sample::check_at_least(factor, 1, "the factor of super-resolution");
  return std::make_unique<BlockMean>(factor);
}

std::unique_ptr<LinearMeasurement> blur_measurement(const Kernel& kernel, int64_t height, int64_t width,
                                                    double threshold) {
  const bool odd = kernel.rows % 2 == 1 && kernel.columns % 2 == 1;
  if (!odd || kernel.rows > height || kernel.columns > width ||
      kernel.values.size() != static_cast<size_t>(kernel.rows * kernel.columns))
    fail_usage("use odd numbers of rows and columns, at most the image size",
               "a blur kernel of {} x {} values", kernel.rows, kernel.columns);
  if (find_non_finite(kernel.values) >= 0)
    fail_usage("check the kernel", "a blur kernel with a value that is not finite");
  sample::check_range(threshold, 1e-6, 1, "threshold");
  return std::make_unique<Blur>(kernel, height, width, threshold);
}

Kernel gaussian_kernel(double sigma) {
  sample::check_positive(sigma, "the width of the blur");
  sample::check_range(sigma, 0, 100, "the width of the blur");
  const int64_t reach = static_cast<int64_t>(std::ceil(3 * sigma)), side = 2 * reach + 1;
  Kernel kernel{side, side, {}};
  double sum = 0;
  const auto weight = [&](int64_t i) { return std::exp(-static_cast<double>(i * i) / (2 * sigma * sigma)); };
  for (int64_t i = -reach; i <= reach; ++i) sum += weight(i);
  for (int64_t y = -reach; y <= reach; ++y)
    for (int64_t x = -reach; x <= reach; ++x)
      kernel.values.push_back(static_cast<float>(weight(y) * weight(x) / (sum * sum)));
  return kernel;
}

Kernel box_kernel(int64_t size) {
  sample::check_range(static_cast<double>(size), 1, 4095, "the size of the blur");
  const auto count = static_cast<size_t>(size * size);
  return {size, size, std::vector<float>(count, 1.0f / static_cast<float>(count))};
}

}  // namespace mdsm::restore
