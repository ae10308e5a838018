#include "report/outlier_plots.h"

#include "core/error.h"
#include "eval/auroc.h"
#include "plot/histogram.h"

namespace mdsm::report {
namespace {

plot::PlotSeries roc_series(const eval::OutlierScore& inside, const eval::OutlierScore& outside,
                            size_t place) {
  const double area = eval::auroc(inside.values, outside.values).area;
  plot::PlotSeries series{
      fmt::format("{} {:.3f}", to_string(inside.kind), area), {}, {}, plot::group_colour(place), {}, {}};
  for (const eval::RocPoint& point : eval::roc_curve(inside.values, outside.values)) {
    series.x.push_back(point.false_alarms);
    series.y.push_back(point.found);
  }
  return series;
}

}  // namespace

std::string score_histogram(const ScoredImages& inside, std::span<const ScoredImages> outside, size_t score) {
  std::vector<plot::HistogramGroup> groups{{inside.label, inside.scores[score].values}};
  for (const ScoredImages& images : outside) groups.push_back({images.label, images.scores[score].values});
  const std::string name = to_string(inside.scores[score].kind);
  return plot::histogram(fmt::format("{}: higher is stranger", name), name, groups);
}

std::string roc_plot(const ScoredImages& inside, const ScoredImages& outside) {
  plot::PlotPanel panel{"outliers found", false, {}, plot::Corner::lower_right};
  for (size_t i = 0; i < inside.scores.size(); ++i)
    panel.series.push_back(roc_series(inside.scores[i], outside.scores[i], i));
  return plot::svg({fmt::format("{} against {}", inside.label, outside.label), "false alarms", {panel}});
}

}  // namespace mdsm::report
