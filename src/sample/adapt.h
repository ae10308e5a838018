// The step size of one chain, learnt from its own acceptance while it burns in: dual averaging (Nesterov; for
// HMC by Hoffman & Gelman).
#pragma once

#include <algorithm>
#include <cmath>

namespace mdsm {

class StepSize {
 public:
  StepSize(double first, double target)
      : centre_(std::log(2 * first)), target_(target), log_(std::log(first)), mean_(log_) {}

  double value() const { return std::exp(log_); }

  // acceptance: probability of the last proposal.
  void learn(double acceptance) {
    const double t = static_cast<double>(++count_);
    error_ += (target_ - acceptance - error_) / (t + kDelay);
    log_ = std::clamp(centre_ - std::sqrt(t) / kPull * error_, kLowest, kHighest);
    mean_ += std::pow(t, -kForget) * (log_ - mean_);
  }

  // From here on the average of what was tried, which is steadier than the last try.
  void freeze() { log_ = mean_; }

 private:
  static constexpr double kPull = 0.05, kDelay = 10, kForget = 0.75;
  static constexpr double kLowest = -14, kHighest = 3;  // 1e-6 .. 20: beyond any use
  double centre_, target_, log_, mean_;
  double error_ = 0;
  int count_ = 0;
};

}  // namespace mdsm
