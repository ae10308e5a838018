#include "bench/measure.h"

#include <algorithm>

#include "bench/busy.h"
#include "bench/problem.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "engine/native/tile_kernels.h"
#include "engine/registry/registry.h"

namespace mdsm::bench {
namespace {

constexpr int kNeighbours = 2;
constexpr int64_t kBusyRounds = 9;  // more than elsewhere: times beside others spread

const char* step_request(Task task) { return task == Task::training ? "train" : "langevin"; }

class Benchmark {
 public:
  Benchmark(const BenchOptions& options, const Say& say)
      : options_(options), say_(say), ours_(our_side(options.timeout)) {
    if (options.use_peer) {
      for (const std::string& python : options.pythons)
        peers_.push_back(peer_side(python, options.peer, options.timeout));
      if (peers_.empty()) peers_.push_back(peer_side("", options.peer, options.timeout));
    }
    result_.threads = options.threads > 0 ? options.threads : hardware_threads();
  }

  BenchResult run() {
    for (const Configuration& config : options_.configurations) check_memory(config);
    if (!options_.verify_only) find_modes();
    for (const Configuration& config : options_.configurations) verify(config);
    if (!result_.verified()) return std::move(result_);
    measure_peak();
    if (options_.verify_only) return std::move(result_);
    for (const Configuration& config : options_.configurations)
      for (const Task task : {Task::training, Task::langevin}) measure(config, task);
    if (options_.busy && result_.threads > 1) measure_busy();
    if (options_.growth) measure_growth();
    return std::move(result_);
  }

 private:
  // Ours, the same on one thread, by the direct path and in bfloat16, and the peer, which takes more, wait
  // side by side.
  void check_memory(const Configuration& config) const {
    const engine::MemoryNeed memory = *engine::memory_need({}, config.spec, config.batch);
    const double sides = 3.0 + (peers_.empty() ? 0 : 2) + (bfloat16_ ? 1 : 0);
    const double need = sides * static_cast<double>(memory.training_weights + memory.training);
    const double available = static_cast<double>(available_memory());
    if (available > 0 && need > available)
      fail("measure a smaller batch or a narrower network",
           "{}: the benchmark needs about {:.1f} GB of memory, {:.1f} GB are available", text(config),
           need / 1e9, available / 1e9);
  }

  void find_modes() {
    if (peers_.empty()) return;
    result_.modes = try_modes(peers_, options_.configurations.front(), side(result_.threads),
                              engine::native::has_matrix_units(), say_);
    for (const PeerMode& mode : result_.modes)
      if (result_.peer.find(mode.version) == std::string::npos)
        result_.peer += (result_.peer.empty() ? "" : "; ") + mode.version;
  }

  void verify(const Configuration& config) {
    say_(fmt::format("verifying {}", text(config)));
    const auto found = verify_sides(config, ours_, peers_.empty() ? nullptr : &peers_.front(),
                                    side(result_.threads), bfloat16_);
    for (const Verification& one : found) {
      std::string line;
      for (const engine::Difference& d : one.differences)
        line +=
            fmt::format(" {} {:.1e}{}", d.what, d.relative, d.ok() ? "" : " WRONG (" + d.worst_place + ")");
      say_(fmt::format("  {}, {} against {}:{}", text(one.config), one.kernels, one.reference, line));
    }
    result_.verifications.insert(result_.verifications.end(), found.begin(), found.end());
  }

  void measure_peak() {
    Party party(ours_);
    const auto answer = party.ask("peak", {{"threads", result_.threads}});
    result_.isa = answer.at("isa").get<std::string>();
    for (const auto& peak : answer.at("peaks")) {
      result_.peaks.push_back({peak.at("isa").get<std::string>(), peak.at("gflops").get<double>()});
      say_(fmt::format("multiply-add peak with {}: {:.1f} GFLOP/s", result_.peaks.back().isa,
                       result_.peaks.back().gflops));
    }
  }

  SideOptions side(int threads, bool exact = false,
                   engine::Precision precision = engine::Precision::float32) const {
    return {threads, options_.seed, exact, precision};
  }

  // A fresh process for every side and task, so that its memory is that task's.
  std::unique_ptr<Party> start(const Contestant& side, const Configuration& config, const fs::path& folder,
                               const SideOptions& options) {
    auto party = std::make_unique<Party>(side);
    party->set_up(folder, config, options);
    if (side.name == ours_.name) result_.ours = party->version();
    return party;
  }

  void measure(const Configuration& config, Task task) {
    const ScratchFolder folder;
    write_problem(folder.path(), config, options_.seed);
    StepTimes times;
    times.config = config;
    times.task = task;
    const std::string request = step_request(task);
    const std::string title = fmt::format("{}: {}", to_string(task), text(config));
    const auto peer = start_peer(times, folder.path(), title);
    const SideOptions usual = side(result_.threads);
    const auto ours = start(ours_, config, folder.path(), usual);
    std::vector<Runner> runners = {{"ours", ours.get(), request, &times.ours}};
    std::unique_ptr<Party> single, likelihood, rounded;
    if (options_.likelihood && task == Task::training) {
      likelihood = start(ours_, config, folder.path(), usual);
      runners.push_back({"maximum likelihood", likelihood.get(), "likelihood", &times.likelihood.emplace()});
    }
    if (bfloat16_) {
      rounded =
          start(ours_, config, folder.path(), side(result_.threads, false, engine::Precision::bfloat16));
      runners.push_back({"bfloat16", rounded.get(), request, &times.bfloat16.emplace()});
    }
    if (result_.threads > 1) {
      single = start(ours_, config, folder.path(), side(1));
      runners.push_back({"one thread", single.get(), request, &times.one_thread.emplace()});
    }
    const auto direct = start(ours_, config, folder.path(), side(result_.threads, true));
    runners.push_back({"direct", direct.get(), request, &times.direct});
    if (peer) {
      runners.push_back({times.peer_mode, peer.get(), request, &times.peer.emplace()});
      if (task == Task::langevin)
        runners.push_back(
            {times.peer_mode + " by x only", peer.get(), "langevin-input", &times.peer_input.emplace()});
    }
    take_turns(runners, options_.rounds, title, say_);
    times.profile = profile(*ours, task, runners[0].repeat);
    result_.steps.push_back(std::move(times));
  }

  // The fastest PyTorch for this network and step, by x only where it may; nothing without peers.
  std::unique_ptr<Party> start_peer(StepTimes& times, const fs::path& folder, const std::string& title) {
    if (result_.modes.empty()) return nullptr;
    say_(fmt::format("{}: the fastest PyTorch", title));
    SideOptions options = side(result_.threads);
    FastestMode fastest =
        find_fastest(result_.modes, times.config, folder,
                     times.task == Task::langevin ? "langevin-input" : "train", options, say_);
    times.peer_mode = fastest.mode.text();
    times.modes = std::move(fastest.times);
    options.precision = fastest.mode.precision;
    return start(fastest.mode.side, times.config, folder, options);
  }

  static Profile profile(Party& party, Task task, int64_t repeat) {
    const auto answer = party.ask("profile", {{"task", to_string(task)}, {"repeat", repeat}});
    Profile profile;
    profile.seconds = answer.at("seconds").get<double>();
    for (const auto& row : answer.at("layers"))
      profile.layers.push_back({row.at("layer").get<std::string>(),
                                from_name<engine::Pass>(row.at("pass").get<std::string>(), "pass"),
                                row.at("seconds").get<double>(), row.at("flop").get<double>(),
                                row.at("calls").get<int64_t>()});
    return profile;
  }

  // With all threads and with one, alone and beside other programs.
  void measure_busy() {
    const Configuration config = busy_configuration();
    const ScratchFolder folder;
    write_problem(folder.path(), config, options_.seed);
    for (const Task task : {Task::training, Task::langevin})
      for (const int neighbours : {0, kNeighbours}) {
        BusyTimes times{config, task, neighbours, {}, {}};
        const auto all = start(ours_, config, folder.path(), side(result_.threads));
        const auto one = start(ours_, config, folder.path(), side(1));
        std::vector<Runner> runners = {
            {fmt::format("{} threads", result_.threads), all.get(), step_request(task), &times.all_threads},
            {"one thread", one.get(), step_request(task), &times.one_thread}};
        const BusyNeighbours busy(neighbours);
        take_turns(runners, options_.rounds > 0 ? options_.rounds : kBusyRounds,
                   fmt::format("{} beside {} busy programs: {}", to_string(task), neighbours, text(config)),
                   say_);
        result_.busy.push_back(std::move(times));
      }
  }

  void measure_growth() {
    for (const Growth& growth : growth_suite())
      for (const Configuration& config : growth.configurations) {
        const ScratchFolder folder;
        write_problem(folder.path(), config, options_.seed);
        GrowthTimes times{growth.what, config, {}, {}};
        for (const Task task : {Task::langevin, Task::training}) {
          const auto party = start(ours_, config, folder.path(), side(result_.threads));
          std::vector<Runner> alone = {{"ours", party.get(), step_request(task),
                                        task == Task::training ? &times.training : &times.langevin}};
          take_turns(alone, 3,
                     fmt::format("growth with {}, {}: {}", growth.what, to_string(task), text(config)), say_);
        }
        result_.growth.push_back(std::move(times));
      }
  }

  const BenchOptions& options_;
  const Say& say_;
  Contestant ours_;
  std::vector<Contestant> peers_;  // one for each interpreter
  const bool bfloat16_ = engine::native::has_bfloat16();
  BenchResult result_;
};

double peak_of(const std::vector<FmaPeak>& peaks, const std::string& isa) {
  const auto found = std::ranges::find(peaks, isa, &FmaPeak::isa);
  return found == peaks.end() ? 0 : found->gflops;
}

}  // namespace

bool BenchResult::verified() const {
  return std::ranges::all_of(verifications, [](const Verification& v) { return v.ok(); });
}

double BenchResult::peak_gflops() const { return peak_of(peaks, isa); }
double BenchResult::tile_gflops() const { return peak_of(peaks, kTilePeak); }

BenchResult run_benchmark(const BenchOptions& options, const Say& say) {
  return Benchmark(options, say).run();
}

}  // namespace mdsm::bench
