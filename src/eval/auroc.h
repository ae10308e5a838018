// How well a score separates two groups: the area under the ROC curve, its confidence interval, the curve.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace mdsm::eval {

struct Auroc {
  double area = 0;  // P(outlier scores higher) + P(equal)/2
  // Standard error by DeLong's method; NaN where it says nothing: one image on a side, or all pairs alike.
  double error = NAN;
  // 95 %: area -+ 1.96 errors, within [0,1]. Where all pairs are in order (or none is), from the min(n, m)
  // pairs that share no image: in order all of them with probability 0.025 if the area is 0.025^(1/min).
  // NaN where there is no error either.
  double low = NAN, high = NAN;
  int64_t inside = 0, outside = 0;
};

// inside: scores of ordinary images, outside: of outliers, which should be higher. Both non-empty and finite.
Auroc auroc(std::span<const double> inside, std::span<const double> outside);

struct RocPoint {
  double false_alarms = 0, found = 0;  // shares of inside and outside at or above a threshold
};
// From (0,0) to (1,1), a point for every threshold that matters.
std::vector<RocPoint> roc_curve(std::span<const double> inside, std::span<const double> outside);

}  // namespace mdsm::eval
