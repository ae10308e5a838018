#include "bench/statistics.h"

#include <algorithm>
#include <vector>

namespace mdsm::bench {

Spread spread(std::span<const double> values) {
  if (values.empty()) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const size_t n = sorted.size(), half = n / 2;
  const double median = n % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return {median, sorted.front(), sorted.back(), static_cast<int>(n)};
}

}  // namespace mdsm::bench
