// The step size of one chain, learnt from its own acceptance while it burns in: stochastic approximation
// (Robbins & Monro) of the logarithm, and the average of its late values (Polyak & Ruppert). Dual averaging
// finds its way from a bad start a little sooner, but swings so widely that the average of the swings, put
// through the bent curve of acceptance, ends well above the target.
#pragma once

#include <algorithm>
#include <cmath>

namespace mdsm::sample {

class StepSize {
 public:
  StepSize(double first, double target) : target_(target), log_(std::log(first)), mean_(log_) {}

  double value() const { return std::exp(log_); }

  // acceptance: probability of the last proposal.
  void learn(double acceptance) {
    const double t = static_cast<double>(++count_);
    log_ = std::clamp(log_ + kGain / std::sqrt(t) * (acceptance - target_), kLowest, kHighest);
    mean_ += std::pow(t, -kForget) * (log_ - mean_);
  }

  // The same for a best step that moves: what was seen long ago does not hold it back.
  void follow(double acceptance) {
    log_ = std::clamp(log_ + kFollow * (acceptance - target_), kLowest, kHighest);
  }

  // From here on the average of what was tried, which is steadier than the last try.
  void freeze() { log_ = mean_; }

 private:
  static constexpr double kGain = 2, kForget = 0.75, kFollow = 0.5;
  static constexpr double kLowest = -14, kHighest = 3;  // 1e-6 .. 20: beyond any use
  double target_, log_, mean_;
  int count_ = 0;
};

}  // namespace mdsm::sample
