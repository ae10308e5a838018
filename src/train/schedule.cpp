#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace mdsm::train {

void validate(const RateOptions& options) {
  if (options.kind == RateKind::cosine && options.lr_final > options.lr)
    fail_usage("give a smaller --lr-final", "--lr-final {} is above --lr {}", options.lr_final, options.lr);
  if (options.hold > 0 && options.kind != RateKind::cosine)
    fail_usage("leave it out, or take --lr-schedule cosine", "--lr-hold has no meaning for --lr-schedule {}",
               to_string(options.kind));
  if (options.hold >= options.steps && options.hold > 0)
    fail_usage("give fewer, or --lr-schedule constant",
               "--lr-hold {} leaves none of the {} steps for the cosine", options.hold, options.steps);
}

double learning_rate(const RateOptions& options, int64_t step) {
  double lr = options.lr;
  if (options.kind == RateKind::cosine) {
    const double place = static_cast<double>(std::max<int64_t>(step - options.hold, 0)) /
                         static_cast<double>(options.steps - options.hold);
    const double falling = (1 + std::cos(std::numbers::pi * std::min(place, 1.0))) / 2;
    lr = options.lr_final + (options.lr - options.lr_final) * falling;
  } else if (options.kind == RateKind::step) {
    lr *= std::pow(10.0, -static_cast<double>(std::min<int64_t>(6 * step / options.steps, 5)));
  }
  if (step < options.warmup) lr *= static_cast<double>(step + 1) / static_cast<double>(options.warmup);
  return lr;
}

double ema_decay(double decay, int64_t step) {
  return std::min(decay, static_cast<double>(1 + step) / static_cast<double>(10 + step));
}

}  // namespace mdsm::train
