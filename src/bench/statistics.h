// What repeated measurements are boiled down to.
#pragma once

#include <span>

namespace mdsm::bench {

struct Spread {
  double median = 0, min = 0, max = 0;
  int count = 0;
};

// Of an even number of values the median is the mean of the two in the middle. No values give zeros.
Spread spread(std::span<const double> values);

}  // namespace mdsm::bench
