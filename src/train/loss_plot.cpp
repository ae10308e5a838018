#include "train/loss_plot.h"

#include <fmt/format.h>

#include <array>

#include "plot/plot.h"
#include "train/stats.h"

namespace mdsm::train {
namespace {

constexpr size_t kPoints = 500, kMany = 40;
constexpr std::array<const char*, 4> kQuarterColours = {"#1f5fa8", "#2e8b57", "#d35400", "#c0392b"};

// Which noise levels a quarter of the batch has; what quarter_losses() of the objective takes together.
std::string quarter_label(const std::vector<float>& levels, size_t quarter) {
  const size_t first = levels.size() * quarter / 4, last = levels.size() * (quarter + 1) / 4;
  return fmt::format("noise {:.2g} to {:.2g}", levels[first], levels[last - 1]);
}

}  // namespace

std::string loss_plot(const fs::path& stats, const std::string& title, const TrainOptions& options) {
  const bool likelihood = options.objective == "ml";  // a difference of energies: any sign, no noise levels
  plot::PlotPanel loss{likelihood ? "difference of energies" : "loss", !likelihood, {}}, rate{"rate", false, {}};
  loss.series.push_back({"all", {}, {}, "#222", {}, {}});
  const std::vector<float> levels = noise_levels(options.noise, options.batch);
  if (!likelihood && options.noise.kind != "single" && options.batch >= 4)
    for (size_t q = 0; q < kQuarterColours.size(); ++q)
      loss.series.push_back({quarter_label(levels, q), {}, {}, kQuarterColours[q], {}, {}});
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
    for (size_t q = 1; q < loss.series.size(); ++q) add(loss.series[q], record.loss_quarters[q - 1]);
  }
  for (plot::PlotPanel* panel : {&loss, &rate})
    for (plot::PlotSeries& series : panel->series) plot::thin(series, kPoints);
  return plot::svg({title, "updates", {loss, rate}});
}

}  // namespace mdsm::train
