// Means with their standard errors, and distances of vectors: the small sums that all measures share.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace mdsm::eval {

struct Mean {
  int64_t n = 0;
  // std: of the values, n - 1; error: of the mean, std / root n. Both NaN for n = 1: one value says nothing
  // about its spread.
  double mean = 0, std = 0, error = 0;
};
Mean mean_of(std::span<const double> values);
Mean mean_of(std::span<const float> values);

// "1.25 +- 0.03", or "1.25 (no error)" where one value has none.
std::string with_error(double value, double error, int digits);

template <class T>
double squared_distance(std::span<const T> a, std::span<const T> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

}  // namespace mdsm::eval
