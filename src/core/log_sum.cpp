#include "core/log_sum.h"

#include <algorithm>
#include <cmath>

namespace mdsm {
namespace {

double log_of_sum(std::span<const double> values, double divisor) {
  const double top = *std::ranges::max_element(values);
  if (!std::isfinite(top)) return top;
  double sum = 0;
  for (const double value : values) sum += std::exp(value - top);
  return top + std::log(sum / divisor);
}

}  // namespace

double log_sum_exp(std::span<const double> values) { return log_of_sum(values, 1); }
double log_mean_exp(std::span<const double> values) {
  return log_of_sum(values, static_cast<double>(values.size()));
}

}  // namespace mdsm
