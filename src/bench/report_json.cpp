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
    rows.push_back({{"layer", time.layer},
                    {"pass", mdsm::to_string(time.pass)},
                    {"seconds", time.seconds},
                    {"flop", time.flop}});
  return {{"seconds", profile.seconds}, {"layers", rows}};
}

json to_json(const PeerMode& mode) {
  return {{"version", mode.version},
          {"python", mode.python()},
          {"mode", mode.name},
          {"seconds", mode.problem.empty() ? json(mode.seconds) : json()},
          {"problem", mode.problem.empty() ? json() : json(mode.problem)}};
}

json to_json(const ModeTime& time) {
  return {{"mode", time.mode},
          {"seconds", time.problem.empty() ? json(time.seconds) : json()},
          {"problem", time.problem.empty() ? json() : json(time.problem)}};
}

json to_json(const BusyTimes& t) {
  return {{"configuration", to_json(t.config)},  {"task", to_string(t.task)},
          {"neighbours", t.neighbours},          {"all_threads", to_json(t.all_threads)},
          {"one_thread", to_json(t.one_thread)}, {"all_threads_over_one", t.ratio()}};
}

template <class T>
json to_list(const std::vector<T>& items) {
  json list = json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

json bfloat16_json(const StepTimes& t, double tile_gflops) {
  if (!t.bfloat16) return {};
  const double median = t.bfloat16->spread().median, gflops = flop(t.config, t.task) / median / 1e9;
  const std::optional<Timing>& peer = t.best_peer();
  json values = to_json(*t.bfloat16);
  values.update(
      {{"float32_over_bfloat16", t.ours.spread().median / median},
       {"peer_over_bfloat16", peer ? json(peer->spread().median / median) : json()},
       {"peer_memory_over_bfloat16", peer ? json(peer->peak_memory / t.bfloat16->peak_memory) : json()},
       {"gflops", gflops},
       {"share_of_tile_peak", tile_gflops > 0 ? json(gflops / tile_gflops) : json()}});
  return values;
}

json to_json(const StepTimes& t, const BenchResult& result) {
  const double median = t.ours.spread().median, gflops = flop(t.config, t.task) / median / 1e9;
  const double peak_gflops = result.peak_gflops();
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
          {"ours_bfloat16", bfloat16_json(t, result.tile_gflops())},
          {"peer_mode", t.peer_mode},
          {"peer_modes", to_list(t.modes)},
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
  json peaks = json::array(), steps = json::array(), growth = json::array();
  for (const FmaPeak& peak : result.peaks) peaks.push_back({{"isa", peak.isa}, {"gflops", peak.gflops}});
  for (const StepTimes& t : result.steps) steps.push_back(to_json(t, result));
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
          {"verifications", to_list(result.verifications)},
          {"peer_modes", to_list(result.modes)},
          {"busy", to_list(result.busy)},
          {"steps", steps},
          {"growth", growth}};
}

}  // namespace mdsm::bench
