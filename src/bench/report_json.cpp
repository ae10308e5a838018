#include <nlohmann/json.hpp>

#include "bench/report.h"

namespace mdsm::bench {
namespace {

using nlohmann::json;

json to_json(const Timing& timing) {
  const Spread s = timing.spread();
  return {{"median", s.median},
          {"min", s.min},
          {"max", s.max},
          {"seconds", timing.seconds},
          {"peak_memory", timing.peak_memory}};
}

json to_json(const std::optional<Timing>& timing) { return timing ? to_json(*timing) : json(); }

json to_json(const Verification& v) {
  json differences = json::object();
  for (const engine::Difference& d : v.differences)
    differences[d.what] = d.relative;  // null where not finite
  return {{"configuration", to_json(v.config)},
          {"kernels", v.kernels},
          {"reference", v.reference},
          {"relative_errors", differences},
          {"ok", v.ok()}};
}

json to_json(const Profile& profile) {
  json rows = json::array();
  for (const engine::LayerTime& time : profile.layers)
    rows.push_back(
        {{"layer", time.layer}, {"pass", time.pass}, {"seconds", time.seconds}, {"flop", time.flop}});
  return {{"seconds", profile.seconds}, {"layers", rows}};
}

json to_json(const StepTimes& t, double peak_gflops) {
  const double median = t.ours.spread().median, gflops = flop(t.config, t.task) / median / 1e9;
  const auto over_ours = [&](const std::optional<Timing>& other) {
    return other ? json(other->spread().median / median) : json();
  };
  return {{"configuration", to_json(t.config)},
          {"task", to_string(t.task)},
          {"flop", flop(t.config, t.task)},
          {"ours", to_json(t.ours)},
          {"ours_one_thread", to_json(t.one_thread)},
          {"ours_direct", to_json(t.direct)},
          {"likelihood", to_json(t.likelihood)},
          {"likelihood_over_ours", over_ours(t.likelihood)},
          {"peer", to_json(t.peer)},
          {"peer_by_x_only", to_json(t.peer_input)},
          {"peer_over_ours", over_ours(t.peer)},
          {"peer_by_x_only_over_ours", over_ours(t.peer_input)},
          {"one_thread_over_ours", over_ours(t.one_thread)},
          {"images_per_second", static_cast<double>(t.config.batch) / median},
          {"gflops", gflops},
          {"share_of_peak", peak_gflops > 0 ? json(gflops / peak_gflops) : json()},
          {"profile", to_json(t.profile)}};
}

}  // namespace

json to_json(const BenchResult& result, const Machine& machine) {
  json peaks = json::array(), verifications = json::array(), steps = json::array(), growth = json::array();
  for (const FmaPeak& peak : result.peaks) peaks.push_back({{"isa", peak.isa}, {"gflops", peak.gflops}});
  for (const Verification& v : result.verifications) verifications.push_back(to_json(v));
  for (const StepTimes& t : result.steps) steps.push_back(to_json(t, result.peak_gflops()));
  for (const GrowthTimes& t : result.growth)
    growth.push_back({{"grows", t.what},
                      {"configuration", to_json(t.config)},
                      {"training", to_json(t.training)},
                      {"langevin", to_json(t.langevin)}});
  return {{"date", machine.date},
          {"cpu", machine.cpu},
          {"cpu_features", machine.features},
          {"cores", machine.cores},
          {"threads", result.threads},
          {"ours", result.ours},
          {"peer", result.peer},
          {"isa", result.isa},
          {"peaks", peaks},
          {"verified", result.verified()},
          {"verifications", verifications},
          {"steps", steps},
          {"growth", growth}};
}

}  // namespace mdsm::bench
