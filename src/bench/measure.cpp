#include "bench/measure.h"

#include <algorithm>
#include <cmath>

#include "bench/problem.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/threads.h"
#include "engine/registry/registry.h"

namespace mdsm::bench {
namespace {

using Say = std::function<void(const std::string&)>;

constexpr double kLeastSeconds = 0.2;  // of one measurement; shorter steps are repeated
constexpr double kLongRound = 15;      // seconds from which on fewer rounds must do

// One of those that take turns.
struct Runner {
  std::string label;  // for progress
  Party* party;
  std::string request;
  Timing* timing;
  int64_t repeat = 1;
};

// A step or two before anything counts, which also tells how many make a measurement.
double warm_up(Runner& runner) {
  double seconds = runner.party->time(runner.request, 1);
  if (seconds < 1) seconds = runner.party->time(runner.request, 1);
  runner.repeat = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(kLeastSeconds / seconds)), 1, 1000);
  return seconds;
}

// Ours, theirs, ours, theirs: a machine that gets slower or faster meanwhile does so for everybody.
void take_turns(std::vector<Runner>& runners, int64_t rounds, const std::string& title, const Say& say) {
  double round_seconds = 0;
  for (Runner& runner : runners) round_seconds += warm_up(runner);
  if (rounds == 0) rounds = round_seconds > kLongRound ? 3 : 5;
  for (int64_t round = 0; round < rounds; ++round) {
    std::string line;
    for (Runner& runner : runners) {
      runner.timing->seconds.push_back(runner.party->time(runner.request, runner.repeat));
      line +=
          fmt::format("{} {} {:.4g} s", line.empty() ? "" : ",", runner.label, runner.timing->seconds.back());
    }
    say(fmt::format("{}, round {} of {}:{}", title, round + 1, rounds, line));
  }
  for (Runner& runner : runners) runner.timing->peak_memory = runner.party->peak_memory();
}

class Benchmark {
 public:
  Benchmark(const BenchOptions& options, const Say& say)
      : options_(options), say_(say), ours_(our_side(options.timeout)) {
    if (options.use_peer) peer_ = peer_side(options.python, options.peer, options.timeout);
    result_.threads = options.threads > 0 ? options.threads : hardware_threads();
  }

  BenchResult run() {
    for (const Configuration& config : options_.configurations) check_memory(config);
    for (const Configuration& config : options_.configurations) verify(config);
    if (!result_.verified()) return std::move(result_);
    measure_peak();
    if (options_.verify_only) return std::move(result_);
    for (const Configuration& config : options_.configurations)
      for (const Task task : {Task::training, Task::langevin}) measure(config, task);
    if (options_.growth) measure_growth();
    return std::move(result_);
  }

 private:
  // Ours, the same on one thread and by the direct path, and the peer, which takes more, wait side by side.
  void check_memory(const Configuration& config) const {
    const engine::MemoryNeed memory = *engine::memory_need({}, config.spec, config.batch);
    const double sides = peer_ ? 5 : 3;
    const double need = sides * static_cast<double>(memory.parameters + memory.training);
    const double available = static_cast<double>(available_memory());
    if (available > 0 && need > available)
      fail("measure a smaller batch or a narrower network",
           "{}: the benchmark needs about {:.1f} GB of memory, {:.1f} GB are available", text(config),
           need / 1e9, available / 1e9);
  }

  void verify(const Configuration& config) {
    say_(fmt::format("verifying {}", text(config)));
    const auto found = verify_sides(config, ours_, peer_ ? &*peer_ : nullptr, side(result_.threads, false));
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

  SideOptions side(int threads, bool exact) const { return {threads, options_.seed, exact}; }

  // A fresh process for every side and task, so that its memory is that task's.
  std::unique_ptr<Party> start(const Contestant& side, const Configuration& config, const fs::path& folder,
                               const SideOptions& options) {
    auto party = std::make_unique<Party>(side);
    party->set_up(folder, config, options);
    (side.name == ours_.name ? result_.ours : result_.peer) = party->version();
    return party;
  }

  void measure(const Configuration& config, Task task) {
    const ScratchFolder folder;
    write_problem(folder.path(), config, options_.seed);
    StepTimes times;
    times.config = config;
    times.task = task;
    const std::string request = task == Task::training ? "train" : "langevin";
    const SideOptions usual = side(result_.threads, false);
    const auto ours = start(ours_, config, folder.path(), usual);
    std::vector<Runner> runners = {{"ours", ours.get(), request, &times.ours}};
    std::unique_ptr<Party> single, peer, likelihood;
    if (options_.likelihood && task == Task::training) {
      likelihood = start(ours_, config, folder.path(), usual);
      runners.push_back({"maximum likelihood", likelihood.get(), "likelihood", &times.likelihood.emplace()});
    }
    if (result_.threads > 1) {
      single = start(ours_, config, folder.path(), side(1, false));
      runners.push_back({"one thread", single.get(), request, &times.one_thread.emplace()});
    }
    const auto direct = start(ours_, config, folder.path(), side(result_.threads, true));
    runners.push_back({"direct", direct.get(), request, &times.direct});
    if (peer_) {
      peer = start(*peer_, config, folder.path(), usual);
      runners.push_back({peer_->name, peer.get(), request, &times.peer.emplace()});
      if (task == Task::langevin)
        runners.push_back(
            {peer_->name + " by x only", peer.get(), "langevin-input", &times.peer_input.emplace()});
    }
    take_turns(runners, options_.rounds, fmt::format("{}: {}", to_string(task), text(config)), say_);
    times.profile = profile(*ours, task, runners[0].repeat);
    result_.steps.push_back(std::move(times));
  }

  static Profile profile(Party& party, Task task, int64_t repeat) {
    const auto answer = party.ask("profile", {{"task", to_string(task)}, {"repeat", repeat}});
    Profile profile;
    profile.seconds = answer.at("seconds").get<double>();
    for (const auto& row : answer.at("layers"))
      profile.layers.push_back({row.at("layer").get<std::string>(), row.at("pass").get<std::string>(),
                                row.at("seconds").get<double>(), row.at("flop").get<double>(),
                                row.at("calls").get<int64_t>()});
    return profile;
  }

  void measure_growth() {
    for (const Growth& growth : growth_suite())
      for (const Configuration& config : growth.configurations) {
        const ScratchFolder folder;
        write_problem(folder.path(), config, options_.seed);
        GrowthTimes times{growth.what, config, {}, {}};
        for (const Task task : {Task::langevin, Task::training}) {
          const auto party = start(ours_, config, folder.path(), side(result_.threads, false));
          std::vector<Runner> alone = {{"ours", party.get(), task == Task::training ? "train" : "langevin",
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
  std::optional<Contestant> peer_;
  BenchResult result_;
};

}  // namespace

bool BenchResult::verified() const {
  return std::ranges::all_of(verifications, [](const Verification& v) { return v.ok(); });
}

double BenchResult::peak_gflops() const {
  for (const FmaPeak& peak : peaks)
    if (peak.isa == isa) return peak.gflops;
  return 0;
}

BenchResult run_benchmark(const BenchOptions& options, const Say& say) {
  return Benchmark(options, say).run();
}

}  // namespace mdsm::bench
