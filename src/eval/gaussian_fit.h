// A Gaussian with the mean and covariance of some images, seen through Gaussian noise: what the Wiener filter
// knows about them. Costs the square of the number of images, not of the pixels.
#pragma once

#include <span>
#include <vector>

#include "data/dataset.h"

namespace mdsm::eval {

class GaussianFit {
 public:
  // Mean and covariance (over n) of the first `limit` images, at noise level sigma.
  GaussianFit(const data::Dataset& images, int64_t limit, double sigma);

  // The integral over ln s from sigma to infinity of ‖x - W_s(x + s n)‖²/s², in expectation over n, with W_s
  // the Wiener filter at noise s. In closed form, with y = x - mean, C the covariance and v = sigma²:
  //   ( yᵀ (C + v)⁻¹ y + ln det(1 + C/v) - tr C (C + v)⁻¹ ) / 2
  // which is E[-log N(x + sigma n; mean, C + v)] without the entropy of the noise.
  double tail(std::span<const float> x) const;
  int64_t images() const { return n_; }

 private:
  int64_t n_ = 0, pixels_ = 0;
  double variance_ = 0, constant_ = 0;
  std::vector<double> mean_, centred_;  // (pixels), (n x pixels)
  std::vector<double> root_;            // (n x n) lower: its square is X Xᵀ + n v
};

}  // namespace mdsm::eval
