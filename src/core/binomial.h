// The standard error of a share.
#pragma once

#include <cmath>
#include <cstdint>

namespace mdsm {

// sqrt(p (1 - p) / n) with p = count / n. Where none or all are counted that would be 0, as if n trials could
// rule anything out; p is then taken as (count + 1) / (n + 2).
inline double binomial_error(int64_t count, int64_t n) {
  const bool end = count <= 0 || count >= n;
  const double p = end ? static_cast<double>(count + 1) / static_cast<double>(n + 2)
                       : static_cast<double>(count) / static_cast<double>(n);
  return std::sqrt(p * (1 - p) / static_cast<double>(n));
}

}  // namespace mdsm
