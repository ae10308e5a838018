// E = 50 ‖x‖² with sigma0 = 0.1: sigma0² grad_x = x, so that the residual x - x~ + sigma0² grad_x(x~) is the
// image itself, whatever the noise. And images of Gaussian noise for it.
#pragma once

#include "core/random.h"
#include "sample/analytic_energy.h"

namespace mdsm::test {

class BowlEnergy : public AnalyticEnergy {
 public:
  BowlEnergy() : AnalyticEnergy(kTiny, 0.1) {}
  double energy_of(const float* x, float* grad_x) const override {
    double sum = 0;
    for (size_t i = 0; i < kPixels; ++i) {
      sum += kSteep * x[i] * x[i] / 2;
      if (grad_x) grad_x[i] = static_cast<float>(kSteep * x[i]);
    }
    return sum;
  }
  static constexpr double kSteep = 100;
};

inline Tensor noise_tensor(int64_t n, double std, uint64_t seed) {
  Tensor x({n, 1, 8, 8});
  RandomStream(seed, Purpose::check).fill_normal(x.values());
  for (float& value : x.values()) value *= static_cast<float>(std);
  return x;
}

}  // namespace mdsm::test
