// Energies whose normaliser is known in closed form, at any image size, with exact samples.
#pragma once

#include <cmath>
#include <numbers>

#include "core/random.h"
#include "eval/bridge.h"
#include "sample/analytic_energy.h"

namespace mdsm::test {

// A Gaussian with standard deviations from `widest` to `narrowest`, and an offset of the energy that log Z
// has to find.
class OffsetGaussian : public AnalyticEnergy {
 public:
  OffsetGaussian(int64_t channels, int64_t size, double widest, double narrowest, double offset)
      : AnalyticEnergy({1, channels, size, size}, 0.1), offset_(offset) {
    const int64_t d = image_shape().count();
    for (int64_t i = 0; i < d; ++i) {
      const double s =
          widest * std::pow(narrowest / widest, static_cast<double>(i) / static_cast<double>(d - 1));
      precision_.push_back(1 / (s * s));
      mean_.push_back(0.5 + 0.2 * std::sin(static_cast<double>(i)));
    }
  }

  double energy_of(const float* x, float* grad_x) const override {
    double energy = offset_;
    for (size_t i = 0; i < mean_.size(); ++i) {
      const double from = x[i] - mean_[i];
      if (grad_x) grad_x[i] = static_cast<float>(precision_[i] * from);
      energy += precision_[i] * from * from / 2;
    }
    return energy;
  }
  double log_z() const {
    double sum = -offset_;
    for (const double p : precision_) sum += std::log(2 * std::numbers::pi / p) / 2;
    return sum;
  }
  Tensor exact_samples(std::span<const uint64_t> seeds) const {
    Tensor x(images(static_cast<int64_t>(seeds.size())));
    for (int64_t n = 0; n < x.shape().n; ++n) {
      const auto image = x.view().image(n);
      RandomStream(seeds[static_cast<size_t>(n)], Purpose::check).fill_normal(image);
      for (size_t i = 0; i < image.size(); ++i)
        image[i] = static_cast<float>(mean_[i] + image[i] / std::sqrt(precision_[i]));
    }
    return x;
  }

 private:
  double offset_;
  std::vector<double> mean_, precision_;
};

inline eval::GaussianReference reference_at(const Shape& image, double mean, double std) {
  return {std::vector<float>(static_cast<size_t>(image.count()), static_cast<float>(mean)), std};
}

}  // namespace mdsm::test
