#include "eval/auroc.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "eval/mean.h"

namespace mdsm::eval {
namespace {

constexpr double kNormal95 = 1.959963984540054, kTail = 0.025;

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
  const Mean by_out = mean_of(of_out), by_in = mean_of(of_in);
  result.area = by_out.mean;
  const auto [low_in, high_in] = std::ranges::minmax(inside);
  const auto [low_out, high_out] = std::ranges::minmax(outside);
  if (low_out > high_in || high_out < low_in) {  // DeLong's variance is 0 here, which is no knowledge
    result.area = low_out > high_in ? 1 : 0;
    const double reach = std::pow(kTail, 1 / std::min(n, m));
    result.low = result.area == 1 ? reach : 0;
    result.high = result.area == 1 ? 1 : 1 - reach;
    return result;
  }
  result.error = std::hypot(by_in.error, by_out.error);
  if (!(result.error > 0)) result.error = NAN;  // one image, or scores that are all equal
  result.low = std::max(0.0, result.area - kNormal95 * result.error);
  result.high = std::min(1.0, result.area + kNormal95 * result.error);
  if (std::isnan(result.error)) result.low = result.high = NAN;
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

}  // namespace mdsm::eval
