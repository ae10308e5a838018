// Energies whose residual is right at every noise level, for the samplers that go by it.
#pragma once

#include <algorithm>

#include "analytic_energy.h"

namespace mdsm::test {

// All data at one point: the residual is exactly the noise, d = x - mean.
class PointEngine : public GaussianEnergy {
 public:
  PointEngine() {
    coupling = 0;
    std::ranges::fill(precision, 1 / (sigma0() * sigma0()));
  }
};

// Pixel 0 is a Gaussian of standard deviation 1/2, all others are always at their mean; they say how much
// noise there is.
class SignalEngine : public GaussianEnergy {
 public:
  static constexpr double kVariance = 0.25;

  double energy_of(const float* x, float* grad_x) const override {
    double square = 0;
    for (size_t i = 1; i < kPixels; ++i) square += std::pow(x[i] - mean[i], 2);
    const double sigma2 = square / (kPixels - 1), sigma0 = this->sigma0();
    if (grad_x)
      for (size_t i = 0; i < kPixels; ++i) {
        const double share = i == 0 ? sigma2 / (kVariance + sigma2) : 1;
        grad_x[i] = static_cast<float>(share * (x[i] - mean[i]) / (sigma0 * sigma0));
      }
    return 0;
  }
};

}  // namespace mdsm::test
