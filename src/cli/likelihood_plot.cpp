#include "cli/likelihood_plot.h"

#include <algorithm>

#include "core/error.h"
#include "report/plot.h"

namespace mdsm::cli {
namespace {

constexpr const char *kForward = "#1f5fa8", *kReverse = "#c0392b";
constexpr size_t kPoints = 500;

// Means over neighbouring distributions, so that a path of ten thousand stays a small picture.
PlotSeries thinned(const std::string& label, const std::vector<double>& values, double scale,
                   const char* colour) {
  PlotSeries series{label, {}, {}, colour, {}, {}};
  const size_t group = std::max<size_t>(1, values.size() / kPoints);
  for (size_t first = 0; first < values.size(); first += group) {
    const size_t last = std::min(values.size(), first + group);
    double sum = 0;
    for (size_t i = first; i < last; ++i) sum += values[i];
    series.x.push_back(static_cast<double>(first + last + 1) / 2);
    series.y.push_back(scale * sum / static_cast<double>(last - first));
  }
  return series;
}

}  // namespace

std::string annealing_plot(const AisRun& run, const AisPlan& plan) {
  PlotPanel difference{"E - E_ref", false, {}}, acceptance{"acceptance", false, {}};
  const PlotPanel eps{"leapfrog step", true, {thinned("", run.eps(), 1, "#555")}};
  const double share = 1 / static_cast<double>(plan.chains);
  const auto add = [&](Direction direction, const char* colour) {
    const AisChains& chains = run.chains(direction);
    difference.series.push_back(thinned(to_string(direction), chains.difference, share, colour));
    acceptance.series.push_back(thinned(to_string(direction), chains.acceptance, share, colour));
  };
  if (plan.forward) add(Direction::forward, kForward);
  if (plan.reverse) add(Direction::reverse, kReverse);
  return svg({fmt::format("annealing: {} chains a direction", plan.chains),
              fmt::format("distribution (1: reference, {}: model)", plan.distributions()),
              {difference, acceptance, eps}});
}

}  // namespace mdsm::cli
