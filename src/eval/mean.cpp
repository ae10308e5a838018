#include "eval/mean.h"

#include <fmt/format.h>

#include <cmath>

namespace mdsm::eval {
namespace {

template <class T>
Mean mean_of_any(std::span<const T> values) {
  Mean result{static_cast<int64_t>(values.size()), 0, NAN, NAN};
  const double n = static_cast<double>(values.size());
  for (const T value : values) result.mean += static_cast<double>(value) / n;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const T value : values)
    squares += (static_cast<double>(value) - result.mean) * (static_cast<double>(value) - result.mean);
  result.std = std::sqrt(squares / (n - 1));
  result.error = result.std / std::sqrt(n);
  return result;
}

}  // namespace

Mean mean_of(std::span<const double> values) { return mean_of_any(values); }
Mean mean_of(std::span<const float> values) { return mean_of_any(values); }

std::string with_error(double value, double error, int digits) {
  return std::isfinite(error) ? fmt::format("{:.{}f} +- {:.{}f}", value, digits, error, digits)
                              : fmt::format("{:.{}f} (no error)", value, digits);
}

}  // namespace mdsm::eval
