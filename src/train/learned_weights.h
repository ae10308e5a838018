// Weights of the noise levels that follow the error: each level counts by the inverse of a moving average of
// its own residual, so that every level has the same say in the gradient, whatever its error has fallen to.
// This is the optimum of a learned uncertainty of every level (loss / e^u + u), without learning it by
// gradients. State, so a resumed run has the same weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/enum_names.h"

namespace mdsm::train {

enum class Weighting { power, learned };
constexpr auto enum_names(Weighting) {
  return names_of<Weighting>({{Weighting::power, "power"}, {Weighting::learned, "learned"}});
}

class LearnedWeights {
 public:
  // After a step: residual ‖x - denoised‖² of each level, lowest first.
  void observe(std::span<const float> residual);
  // In place of `fixed`, whose share of the objective as a whole they keep: rates and --clip mean the same.
  // `fixed` itself before the first step.
  std::vector<float> weights(std::span<const float> fixed) const;

  std::span<const float> averages() const { return average_; }
  int64_t steps() const { return steps_; }
  void restore(std::vector<float> averages, int64_t steps);

 private:
  std::vector<float> average_;
  int64_t steps_ = 0;
};

}  // namespace mdsm::train
