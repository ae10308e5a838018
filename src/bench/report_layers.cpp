// Tables of what happens inside of our steps.
#include <algorithm>
#include <map>

#include "bench/report_cells.h"
#include "bench/report_tables.h"
#include "bench/table.h"

namespace mdsm::bench {
namespace {

struct Sum {
  double seconds = 0, flop = 0;
  void add(const engine::LayerTime& time) {
    seconds += time.seconds;
    flop += time.flop;
  }
};

}  // namespace

std::string pass_table(const BenchResult& result) {
  Table table({"training step", "forward", "backward", "tangent", "second backward", "weight gradients",
               "element-wise", "rest"});
  for (const StepTimes& t : result.steps) {
    if (t.task != Task::training || t.profile.layers.empty()) continue;
    std::map<engine::Pass, Sum> passes;
    double elementwise = 0, all = 0;
    for (const engine::LayerTime& time : t.profile.layers) {
      all += time.seconds;
      time.layer == "elementwise" ? (void)(elementwise += time.seconds) : passes[time.pass].add(time);
    }
    std::vector<std::string> cells = {text(t.config)};
    const auto part = [&](double seconds) {
      return fmt::format("{:.0f} %", seconds / t.profile.seconds * 100);
    };
    for (const auto& [pass, name] : enum_names(engine::Pass{}))
      cells.push_back(fmt::format("{}, {}", part(passes[pass].seconds),
                                  share_text(passes[pass].flop, passes[pass].seconds, result.peak_gflops())));
    cells.push_back(part(elementwise));
    cells.push_back(part(std::max(0.0, t.profile.seconds - all)));
    table.row(cells);
  }
  return "\n## Passes\n\nShare of the training step's time, and of the multiply-add peak that the "
         "convolutions of a pass "
         "reach.\n\n" +
         table.text();
}

// The network with the most work a step stands for all.
std::string layer_table(const BenchResult& result) {
  const StepTimes* largest = nullptr;
  for (const StepTimes& t : result.steps)
    if (t.task == Task::training && (!largest || flop(t.config, t.task) > flop(largest->config, t.task)))
      largest = &t;
  if (!largest || largest->profile.layers.empty()) return "";
  std::vector<std::string> order;
  std::map<std::string, std::map<engine::Pass, Sum>> layers;
  for (const engine::LayerTime& time : largest->profile.layers) {
    if (!layers.contains(time.layer)) order.push_back(time.layer);
    layers[time.layer][time.pass].add(time);
  }
  Table table(
      {"layer", "share of time", "forward", "backward", "tangent", "second backward", "weight gradients"});
  for (const std::string& layer : order) {
    double seconds = 0;
    for (const auto& [pass, sum] : layers[layer]) seconds += sum.seconds;
    std::vector<std::string> cells = {layer,
                                      fmt::format("{:.1f} %", seconds / largest->profile.seconds * 100)};
    for (const auto& [pass, name] : enum_names(engine::Pass{})) {
      const Sum sum = layers[layer][pass];
      const std::string share = share_text(sum.flop, sum.seconds, result.peak_gflops());
      cells.push_back(share.empty() && sum.seconds > 0 ? seconds_text(sum.seconds) : share);
    }
    table.row(cells);
  }
  return fmt::format(
      "\n## Layers of {}\n\nShare of the multiply-add peak in each pass; times where there is nothing "
      "to multiply.\n\n{}",
      text(largest->config), table.text());
}

}  // namespace mdsm::bench
