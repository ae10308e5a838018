#include "eval/surprise.h"

#include <algorithm>
#include <cmath>

namespace mdsm::eval {
namespace {

constexpr size_t kFewestInTail = 5;
constexpr double kPower = 1.5;

}  // namespace

double surprise(std::span<const float> usual, double value) {
  const size_t n = usual.size(), in_tail = std::min(n, std::max(kFewestInTail, n / 10));
  const std::span<const float> tail = usual.last(in_tail);
  const double all = static_cast<double>(n) + 1, start = static_cast<double>(tail.front());
  if (value <= start) {
    const auto above = usual.end() - std::ranges::lower_bound(usual, static_cast<float>(value));
    return std::log(all / (static_cast<double>(above) + 1));
  }
  double beyond = 0;
  for (const float one : tail) beyond += static_cast<double>(one) - start;
  const auto count = static_cast<double>(in_tail);
  return std::log(all / count) + (value - start) / std::max(beyond / count, 1e-6);
}

double joint_surprise(std::span<const double> surprises, std::span<const double> weights) {
  double sum = 0, total = 0;
  for (size_t k = 0; k < surprises.size(); ++k) {
    sum += weights[k] * std::pow(surprises[k], kPower);
    total += weights[k];
  }
  return std::pow(sum / total, 1 / kPower);
}

}  // namespace mdsm::eval
