// How well a score separates two groups: the area under the ROC curve, its confidence interval, the curve.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mdsm {

struct Auroc {
  double area = 0;           // P(outlier scores higher) + P(equal)/2
  double error = 0;          // standard error by DeLong's method
  double low = 0, high = 0;  // 95 %: area -+ 1.96 errors, within [0,1]
  int64_t inside = 0, outside = 0;
};

// inside: scores of ordinary images, outside: of outliers, which should be higher. Both non-empty and finite.
Auroc auroc(std::span<const double> inside, std::span<const double> outside);

struct RocPoint {
  double false_alarms = 0, found = 0;  // shares of inside and outside at or above a threshold
};
// From (0,0) to (1,1), a point for every threshold that matters.
std::vector<RocPoint> roc_curve(std::span<const double> inside, std::span<const double> outside);

}  // namespace mdsm
