// The mean of a list of numbers, summed in order in double precision.
#pragma once

#include <ranges>

namespace mdsm {

// 0 of an empty list.
template <std::ranges::sized_range Numbers>
double mean(const Numbers& numbers) {
  double sum = 0;
  for (const auto number : numbers) sum += static_cast<double>(number);
  return std::ranges::empty(numbers) ? 0 : sum / static_cast<double>(std::ranges::size(numbers));
}

}  // namespace mdsm
