#include "train/learned_weights.h"

#include <algorithm>

#include "train/schedule.h"

namespace mdsm::train {
namespace {

constexpr double kDecay = 0.98;     // one image a level and step: about 50 of them
constexpr float kSmallest = 1e-9f;  // of a residual, to divide by

}  // namespace

void LearnedWeights::observe(std::span<const float> residual) {
  average_.resize(residual.size());
  // The first one is taken as it is.
  const auto keep = static_cast<float>(steps_ == 0 ? 0 : ema_decay(kDecay, steps_));
  for (size_t i = 0; i < residual.size(); ++i)
    average_[i] = keep * average_[i] + (1 - keep) * std::max(residual[i], kSmallest);
  ++steps_;
}

std::vector<float> LearnedWeights::weights(std::span<const float> fixed) const {
  std::vector<float> result(fixed.begin(), fixed.end());
  if (steps_ == 0) return result;
  double total = 0;
  for (size_t i = 0; i < fixed.size(); ++i) total += static_cast<double>(fixed[i]) * average_[i];
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<float>(total / static_cast<double>(result.size()) / average_[i]);
  return result;
}

void LearnedWeights::restore(std::vector<float> averages, int64_t steps) {
  average_ = std::move(averages);
  steps_ = steps;
}

}  // namespace mdsm::train
