#include "train/loss_plot.h"

#include "plot/plot.h"
#include "train/stats.h"

namespace mdsm::train {
namespace {

constexpr size_t kPoints = 500, kMany = 40;

}  // namespace

std::string loss_plot(const fs::path& stats, const std::string& title, const LossPanel& panel) {
  plot::PlotPanel loss{panel.label, panel.logarithmic, {}}, rate{"rate", false, {}};
  loss.series.push_back({"all", {}, {}, "#222", {}, {}});
  for (const LossPanel::Line& line : panel.lines)
    loss.series.push_back({line.label, {}, {}, line.colour, {}, {}});
  rate.series.push_back({"", {}, {}, "#555", {}, {}});

  const std::vector<StatsRecord> records = read_stats(stats);
  // The first losses are a hundred times the last: with them on the axis the rest would be a flat line.
  const int64_t shown = records.size() < kMany ? 0 : records.back().step / 20;
  for (const StatsRecord& record : records) {
    const auto add = [&](plot::PlotSeries& series, double value) {
      series.x.push_back(static_cast<double>(record.step));
      series.y.push_back(value);
    };
    add(rate.series[0], record.lr);
    if (record.step < shown) continue;
    add(loss.series[0], record.loss);
    for (size_t i = 0; i < panel.lines.size(); ++i)
      add(loss.series[i + 1], value_of(record.own, panel.lines[i].statistic, panel.lines[i].index));
  }
  for (plot::PlotPanel* shown_panel : {&loss, &rate})
    for (plot::PlotSeries& series : shown_panel->series) plot::thin(series, kPoints);
  return plot::svg({title, "steps", {loss, rate}});
}

}  // namespace mdsm::train
