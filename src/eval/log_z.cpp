#include "eval/log_z.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "core/error.h"
#include "core/log_sum.h"

namespace mdsm::eval {

LogZ estimate_log_z(std::span<const double> log_weights, Direction direction) {
  if (log_weights.empty()) fail("run at least one chain", "no chains");
  const double sign = direction == Direction::forward ? 1 : -1, n = static_cast<double>(log_weights.size());
  const Mean mean = mean_of(log_weights);
  LogZ z{direction, mean.n, mean.mean, mean.error, mean.std, 0, NAN, 0};
  std::vector<double> logs;
  for (const double value : log_weights) logs.push_back(sign * value);
  const double level = log_mean_exp(logs);
  z.estimate = sign * level;
  double squares = 0, spread = 0;  // of weights whose mean is 1
  for (const double value : logs) {
    const double w = std::exp(value - level);
    squares += w * w;
    spread += (w - 1) * (w - 1);
  }
  z.ess = n * n / squares;
  if (log_weights.size() > 1) z.estimate_error = std::sqrt(spread / (n - 1) / n);
  return z;
}

BitsPerDim bits_per_dim(double log_p, int64_t dimensions) {
  const double bits = -log_p / (static_cast<double>(dimensions) * std::numbers::ln2);
  return {bits, bits + std::log2(255.0)};
}

}  // namespace mdsm::eval
