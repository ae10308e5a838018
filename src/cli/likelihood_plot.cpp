#include "cli/likelihood_plot.h"

#include "core/error.h"
#include "report/plot.h"

namespace mdsm::cli {
namespace {

constexpr const char *kForward = "#1f5fa8", *kReverse = "#c0392b";
constexpr size_t kPoints = 500;

// One value for each distribution, the first at 1.
PlotSeries line(const std::string& label, const std::vector<double>& values, double scale,
                const char* colour) {
  PlotSeries series{label, {}, {}, colour, {}, {}};
  for (const double value : values) {
    series.x.push_back(static_cast<double>(series.x.size() + 1));
    series.y.push_back(scale * value);
  }
  thin(series, kPoints);
  return series;
}

}  // namespace

std::string annealing_plot(const AisRun& run, const AisPlan& plan) {
  PlotPanel difference{"E - E_ref", false, {}}, acceptance{"acceptance", false, {}};
  const PlotPanel eps{"leapfrog step", true, {line("", run.eps(), 1, "#555")}};
  const double share = 1 / static_cast<double>(plan.chains);
  const auto add = [&](Direction direction, const char* colour) {
    const AisChains& chains = run.chains(direction);
    difference.series.push_back(line(to_string(direction), chains.difference, share, colour));
    acceptance.series.push_back(line(to_string(direction), chains.acceptance, share, colour));
  };
  if (plan.forward) add(Direction::forward, kForward);
  if (plan.reverse) add(Direction::reverse, kReverse);
  return svg({fmt::format("annealing: {} chains a direction", plan.chains),
              fmt::format("distribution (1: reference, {}: model)", plan.distributions()),
              {difference, acceptance, eps}});
}

}  // namespace mdsm::cli
