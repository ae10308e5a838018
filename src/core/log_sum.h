// Sums of numbers that are known by their logarithms, without overflow.
#pragma once

#include <span>

namespace mdsm {

// log of the sum (of the mean) of exp(values). Where the largest is not finite it is the result.
double log_sum_exp(std::span<const double> values);
double log_mean_exp(std::span<const double> values);

}  // namespace mdsm
