// Learning rate and moving-average decay as pure functions of the step, so that resuming needs nothing saved.
#pragma once

#include <cstdint>

#include "core/enum_names.h"

namespace mdsm::train {

enum class RateKind { cosine, step, constant };
constexpr auto enum_names(RateKind) {
  return names_of<RateKind>(
      {{RateKind::cosine, "cosine"}, {RateKind::step, "step"}, {RateKind::constant, "constant"}});
}

struct RateOptions {
  RateKind kind = RateKind::cosine;
  double lr = 1e-4;
  double lr_final = 1e-6;   // where cosine ends
  int64_t steps = 100'000;  // of the whole run
  int64_t warmup = 0;       // steps of a linear warmup, from lr/warmup
  int64_t hold = 0;         // steps at lr before the cosine begins, the warmup among them
};

void validate(const RateOptions& options);  // throws usage errors

// Rate of the training step number `step`, 0 for the first.
//   cosine: lr_final + (lr - lr_final) (1 + cos(pi (step - hold) / (steps - hold))) / 2
//   step:   lr divided by 10 after every sixth of the run (the authors' "exp")
double learning_rate(const RateOptions& options, int64_t step);

// Decay of the weights' moving average at step number `step`: min(decay, (1 + step) / (10 + step)). The
// second term keeps the random initial weights out of the average of a young run.
double ema_decay(double decay, int64_t step);

}  // namespace mdsm::train
