#include "plot/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace mdsm::plot {
namespace {

std::vector<double> finite_sorted(std::span<const HistogramGroup> groups) {
  std::vector<double> all;
  for (const auto& group : groups)
    for (const double value : group.values)
      if (std::isfinite(value)) all.push_back(value);
  std::ranges::sort(all);
  return all;
}

// The outline of the bars, and the area under it.
PlotSeries outline(const HistogramGroup& group, double low, double width, int bins, const char* colour) {
  std::vector<double> counts(static_cast<size_t>(bins));
  double n = 0;
  for (const double value : group.values) {
    if (!std::isfinite(value)) continue;
    const double place = std::clamp((value - low) / width, 0.0, static_cast<double>(bins) - 0.5);
    counts[static_cast<size_t>(place)] += 1;
    n += 1;
  }
  PlotSeries series{group.label, {}, {}, colour, {}, {}};
  for (size_t i = 0; i < counts.size(); ++i)
    for (const double edge : {0.0, 1.0}) {
      series.x.push_back(low + (static_cast<double>(i) + edge) * width);
      series.y.push_back(n > 0 ? counts[i] / n : 0);
    }
  series.high = series.y;
  series.low.assign(series.y.size(), 0);
  return series;
}

}  // namespace

const char* group_colour(size_t group) {
  static constexpr std::array kColours = {"#1f5fa8", "#c0392b", "#2e8b57", "#8e44ad",
                                          "#d35400", "#16808a", "#7f6000", "#555555"};
  return kColours[group % kColours.size()];
}

std::string histogram(const std::string& title, const std::string& x_label,
                      std::span<const HistogramGroup> groups, int bins) {
  const auto all = finite_sorted(groups);
  double low = 0, high = 1;
  if (!all.empty()) low = all[all.size() / 200], high = all[all.size() - 1 - all.size() / 200];
  if (!(high > low)) low -= 0.5, high += 0.5;
  PlotPanel panel{"share of images", false, {}};
  for (size_t i = 0; i < groups.size(); ++i)
    panel.series.push_back(outline(groups[i], low, (high - low) / bins, bins, group_colour(i)));
  return svg({title, x_label, {panel}});
}

}  // namespace mdsm::plot
