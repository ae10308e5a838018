#include "bench/worker.h"

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/native_steps.h"
#include "bench/peak.h"
#include "core/error.h"
#include "core/json.h"
#include "core/threads.h"
#include "engine/registry/registry.h"

namespace mdsm::bench {
namespace {

using nlohmann::json;

int64_t peak_memory() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
  return 0;
}

NativeSteps make_steps(const json& request) {
  set_thread_count(json_value<int>(request.at("threads")));
  Configuration config{network::spec_from_json(request, "benchmark request"),
                       json_value<int64_t>(request.at("batch"))};
  StepNumbers numbers{request.at("lr").get<double>(),
                      request.at("ema").get<double>(),
                      request.at("eps").get<double>(),
                      json_value<uint64_t>(request.at("seed")),
                      request.at("exact").get<bool>(),
                      from_name<engine::Precision>(request.at("precision").get<std::string>(), "precision")};
  return {read_problem(request.at("folder").get<std::string>(), config), numbers};
}

json profile(NativeSteps& steps, const json& request) {
  const Task task = request.at("task") == to_string(Task::training) ? Task::training : Task::langevin;
  const Profile profile = steps.profile(task, json_value<int64_t>(request.at("repeat")));
  json layers = json::array();
  for (const engine::LayerTime& time : profile.layers)
    layers.push_back({{"layer", time.layer},
                      {"pass", mdsm::to_string(time.pass)},
                      {"seconds", time.seconds},
                      {"flop", time.flop},
                      {"calls", time.calls}});
  return {{"seconds", profile.seconds}, {"layers", layers}};
}

json peaks() {
  const auto measured = measure_fma_peak();
  json list = json::array();
  for (const FmaPeak& peak : measured) list.push_back({{"isa", peak.isa}, {"gflops", peak.gflops}});
  return {{"isa", peak_in_use(measured).isa}, {"peaks", list}};
}

class Worker {
 public:
  json answer(const json& request) {
    const std::string what = request.at("do").get<std::string>();
    if (what == "setup") {
      steps_.reset();
      steps_.emplace(make_steps(request));
      return {{"name", "mdsm, " + engine::native_engine_version()}};
    }
    if (what == "peak") {
      set_thread_count(json_value<int>(request.at("threads")));
      return peaks();
    }
    if (!steps_) fail("send setup first", "nothing to do '{}' with", what);
    if (what == "train") return {{"seconds", steps_->train(json_value<int64_t>(request.at("repeat")))}};
    if (what == "likelihood")
      return {{"seconds", steps_->likelihood(json_value<int64_t>(request.at("repeat")))}};
    if (what == "langevin" || what == "langevin-input")
      return {{"seconds", steps_->langevin(json_value<int64_t>(request.at("repeat")))}};
    if (what == "profile") return profile(*steps_, request);
    if (what != "verify") fail("see src/bench/worker.h", "unknown request '{}'", what);
    steps_->verify(request.at("folder").get<std::string>());
    return json::object();
  }

 private:
  std::optional<NativeSteps> steps_;
};

}  // namespace

void serve_benchmark(std::istream& in, std::ostream& out) {
  Worker worker;
  for (std::string line; std::getline(in, line);) {
    json reply;
    try {
      const json request = parse_json(line);
      if (!request.is_object()) throw std::runtime_error("not a JSON object");
      if (request.at("do") == "quit") return;
      reply = worker.answer(request);
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    reply["peak_rss"] = peak_memory();
    out << json_text(reply) << std::endl;
  }
}

}  // namespace mdsm::bench
