// Linear measurements y = M x of images: which part of an image they fix, and which they leave open. All that
// sampling needs are the orthogonal projection P onto the measured part and the image M⁺y in it that explains
// y. Measurements are immutable once made; threads may share them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "image/mask.h"

namespace mdsm::restore {

class LinearMeasurement {
 public:
  virtual ~LinearMeasurement() = default;
  virtual Shape measured_shape(const Shape& images) const = 0;  // of y for such images

  // y = M x; x: (N,C,H,W)
  Tensor measure(ConstTensorView x) const;
  // M⁺y: (N,C,H,W)
  Tensor lift(ConstTensorView y, const Shape& images) const;
  // out = P x for image i of the run; out is not x.
  virtual void project(int64_t i, const float* x, float* out, const Shape& image) const = 0;

 private:
  virtual void measure_one(int64_t i, const float* x, float* y, const Shape& image) const = 0;
  virtual void lift_one(int64_t i, const float* y, float* x, const Shape& image) const = 0;
};

// images with the missing pixels replaced by 0.5, whatever they were (also NaN).
Tensor hide(ConstTensorView images, const image::Mask& mask);
// Copies the known pixels of images to out.
void show(ConstTensorView images, const image::Mask& mask, TensorView out);

// Missing pixels: y is the image with missing pixels at 0.5; M⁺y has 0 there.
std::unique_ptr<LinearMeasurement> mask_measurement(image::Mask mask);
// Super-resolution: y is the mean of every factor x factor block. Usage error unless factor divides the size.
std::unique_ptr<LinearMeasurement> block_mean_measurement(int64_t factor);

// A blur: odd numbers of rows and columns, the centre in the middle.
struct Kernel {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;  // rows x columns
};
Kernel gaussian_kernel(double sigma);  // cut off at 3 sigma, sums to 1
Kernel box_kernel(int64_t size);       // a mean over size x size pixels
// Deblurring: y = kernel * x for images of height x width pixels, wrapped round their edges. Frequencies that
// the kernel weakens below `threshold` of its strongest count as not measured. Usage errors: an even, too
// large or all-zero kernel.
std::unique_ptr<LinearMeasurement> blur_measurement(const Kernel& kernel, int64_t height, int64_t width,
                                                    double threshold = 0.1);

}  // namespace mdsm::restore
