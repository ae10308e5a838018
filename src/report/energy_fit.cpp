#include "report/energy_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plot/plot.h"

namespace mdsm::report {
namespace {

constexpr double kLowestShare = 0.01;  // of the highest temperature
constexpr size_t kFewest = 5;

struct Points {
  std::vector<double> t, energy;  // mean over the samples
  double end = 0;                 // energy at the last point of the trace
};

double mean_energy(const SampleSet& set, size_t point) {
  double sum = 0, count = 0;
  for (size_t at = point; at < set.energy_trace.size(); at += static_cast<size_t>(set.points))
    if (!std::isnan(set.energy_trace[at])) sum += set.energy_trace[at], ++count;
  return sum / count;
}

// The points at which the temperature has begun to fall, down to `lowest`.
Points cooling(const SampleSet& set, double lowest) {
  Points found;
  const auto points = static_cast<size_t>(set.points);
  for (size_t i = 1; i < points; ++i) {
    const double t = set.trace_temperature[i];
    const double energy = mean_energy(set, i);
    if (!(t > 0) || t < lowest || t >= set.trace_temperature[i - 1] || !std::isfinite(energy)) continue;
    found.t.push_back(t);
    found.energy.push_back(energy);
  }
  found.end = points > 0 ? mean_energy(set, points - 1) : 0;
  return found;
}

struct Line {
  double slope = 0, r2 = 0;
};

Line least_squares(const std::vector<double>& x, const std::vector<double>& y) {
  double mx = 0, my = 0;
  for (size_t i = 0; i < x.size(); ++i)
    mx += x[i] / static_cast<double>(x.size()), my += y[i] / static_cast<double>(x.size());
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    xy += (x[i] - mx) * (y[i] - my);
    yy += (y[i] - my) * (y[i] - my);
  }
  return {xy / xx, yy > 0 ? xy * xy / (xx * yy) : 0};
}

}  // namespace

std::optional<EnergyFit> fit_energy(const SampleSet& set) {
  if (set.trace_temperature.empty() || set.energy_trace.empty()) return std::nullopt;
  const double highest = std::ranges::max(set.trace_temperature);
  const Points found = cooling(set, highest * kLowestShare);
  if (found.t.size() < kFewest) return std::nullopt;
  const Line line = least_squares(found.t, found.energy);
  std::vector<double> log_t, log_energy;
  for (size_t i = 0; i < found.t.size(); ++i) {
    if (!(found.energy[i] > found.end)) continue;
    log_t.push_back(std::log(found.t[i]));
    log_energy.push_back(std::log(found.energy[i] - found.end));
  }
  const auto [low, high] = std::ranges::minmax(found.t);
  return EnergyFit{.slope = line.slope,
                   .r2 = line.r2,
                   .exponent = log_t.size() < kFewest ? std::numeric_limits<double>::quiet_NaN()
                                                      : least_squares(log_t, log_energy).slope,
                   .end = found.end,
                   .low = low,
                   .high = high};
}

std::string energy_plot(const SampleSet& set, const EnergyFit& fit, const std::string& title) {
  Points all = cooling(set, 0);
  plot::PlotSeries measured{.label = "mean energy of the samples, less that at the end",
                            .x = all.t,
                            .y = all.energy,
                            .colour = "#1f5fa8",
                            .low = {},
                            .high = {}};
  for (double& value : measured.y) value -= all.end;
  const auto half = static_cast<double>(set.x.shape().per_image()) / 2;
  plot::PlotSeries expected{.label = fmt::format("pixels/2 = {} for each unit of T", half),
                            .x = {fit.low, fit.high},
                            .y = {half * fit.low, half * fit.high},
                            .colour = "#b03a2e",
                            .low = {},
                            .high = {}};
  return plot::svg({.title = title,
                    .x_label = "temperature T",
                    .panels = {{"energy", true, {measured, expected}, plot::Corner::upper_left}},
                    .log_x = true});
}

}  // namespace mdsm::report
