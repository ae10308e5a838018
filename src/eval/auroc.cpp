#include "eval/auroc.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"

namespace mdsm {
namespace {

void check(std::span<const double> values, const char* what) {
  if (values.empty()) fail("give at least one image", "no scores of {} images", what);
  for (const double value : values)
    if (!std::isfinite(value)) fail("check the model", "a score of {} images is {}", what, value);
}

// Rank of each value among all, counted from 1; equal values share the mean of their ranks.
std::vector<double> midranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t last = first + 1;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (size_t i = first; i < last; ++i) ranks[order[i]] = static_cast<double>(first + last + 1) / 2;
    first = last;
  }
  return ranks;
}

// Variance of the mean of `values` about their mean; 0 for one value.
double variance_of_mean(const std::vector<double>& values, double mean) {
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return values.size() > 1 ? sum / (n - 1) / n : 0;
}

}  // namespace

// The area is the mean over outliers of the share of ordinary images that score lower, which ranks give in
// n log n; the same shares, seen from both groups, give DeLong's variance.
Auroc auroc(std::span<const double> inside, std::span<const double> outside) {
  check(inside, "ordinary");
  check(outside, "outlying");
  const double n = static_cast<double>(inside.size()), m = static_cast<double>(outside.size());
  std::vector<double> all(inside.begin(), inside.end());
  all.insert(all.end(), outside.begin(), outside.end());
  const auto among_all = midranks(all), among_in = midranks(inside), among_out = midranks(outside);
  std::vector<double> of_in(inside.size()), of_out(outside.size());
  for (size_t i = 0; i < inside.size(); ++i) of_in[i] = 1 - (among_all[i] - among_in[i]) / m;
  for (size_t j = 0; j < outside.size(); ++j) of_out[j] = (among_all[inside.size() + j] - among_out[j]) / n;
  Auroc result;
  result.inside = static_cast<int64_t>(inside.size());
  result.outside = static_cast<int64_t>(outside.size());
  for (const double share : of_out) result.area += share / m;
  result.error = std::sqrt(variance_of_mean(of_in, result.area) + variance_of_mean(of_out, result.area));
  constexpr double kNormal95 = 1.959963984540054;
  result.low = std::max(0.0, result.area - kNormal95 * result.error);
  result.high = std::min(1.0, result.area + kNormal95 * result.error);
  return result;
}

std::vector<RocPoint> roc_curve(std::span<const double> inside, std::span<const double> outside) {
  check(inside, "ordinary");
  check(outside, "outlying");
  struct Entry {
    double score;
    bool outlier;
  };
  std::vector<Entry> entries;
  for (const double score : inside) entries.push_back({score, false});
  for (const double score : outside) entries.push_back({score, true});
  std::ranges::sort(entries, std::ranges::greater{}, &Entry::score);
  std::vector<RocPoint> curve{{0, 0}};
  double alarms = 0, found = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    (entries[i].outlier ? found : alarms) += 1;
    if (i + 1 < entries.size() && entries[i + 1].score == entries[i].score) continue;
    curve.push_back(
        {alarms / static_cast<double>(inside.size()), found / static_cast<double>(outside.size())});
  }
  return curve;
}

}  // namespace mdsm
