#include "report/annealing_plot.h"

#include "core/error.h"
#include "plot/plot.h"

namespace mdsm::report {
namespace {

constexpr const char *kForward = "#1f5fa8", *kReverse = "#c0392b";
constexpr size_t kPoints = 500;

// One value for each distribution, the first at 1.
plot::PlotSeries line(const std::string& label, const std::vector<double>& values, double scale,
                      const char* colour) {
  plot::PlotSeries series{label, {}, {}, colour, {}, {}};
  for (const double value : values) {
    series.x.push_back(static_cast<double>(series.x.size() + 1));
    series.y.push_back(scale * value);
  }
  plot::thin(series, kPoints);
  return series;
}

}  // namespace

std::string annealing_plot(const eval::AisRun& run, const eval::AisPlan& plan) {
  plot::PlotPanel difference{"E - E_ref", false, {}}, acceptance{"acceptance", false, {}};
  const plot::PlotPanel eps{"leapfrog step", true, {line("", run.eps(), 1, "#555")}};
  const double share = 1 / static_cast<double>(plan.chains);
  const auto add = [&](eval::Direction direction, const char* colour) {
    const eval::AisChains& chains = run.chains(direction);
    difference.series.push_back(line(to_string(direction), chains.difference, share, colour));
    acceptance.series.push_back(line(to_string(direction), chains.acceptance, share, colour));
  };
  if (plan.goes(eval::Direction::forward)) add(eval::Direction::forward, kForward);
  if (plan.goes(eval::Direction::reverse)) add(eval::Direction::reverse, kReverse);
  return plot::svg({fmt::format("annealing: {} chains a direction", plan.chains),
                    fmt::format("distribution (1: reference, {}: model)", plan.distributions()),
                    {difference, acceptance, eps}});
}

}  // namespace mdsm::report
