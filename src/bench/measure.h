// Runs a benchmark: verifies, measures the roof, then times both sides in turns. Knows nothing of tables and
// files; report.h makes those of the result.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/native_steps.h"
#include "bench/peak.h"
#include "bench/statistics.h"
#include "bench/verify.h"

namespace mdsm::bench {

struct BenchOptions {
  std::vector<Configuration> configurations;
  bool growth = false;
  bool verify_only = false;
  bool likelihood = false;  // also an update of maximum likelihood, beside the training step
  bool use_peer = true;
  std::string python, peer;  // empty: looked for
  int64_t rounds = 0;        // 0: 5, or 3 where a round takes long
  int threads = 0;           // 0: all
  uint64_t seed = 0;
  double timeout = 900;  // seconds for one answer of either side
};

// One side's times in one situation.
struct Timing {
  std::vector<double> seconds;  // of a step, one entry a round
  double peak_memory = 0;       // bytes; of a process that did nothing else

  Spread spread() const { return bench::spread(seconds); }
};

struct StepTimes {
  Configuration config;
  Task task = Task::training;
  Timing ours, direct;                     // direct: ours with --exact
  std::optional<Timing> likelihood;        // ours, in turns with the training step; where asked for
  std::optional<Timing> one_thread;        // ours; absent where there is just one
  std::optional<Timing> peer, peer_input;  // peer_input: Langevin without gradients by the weights
  Profile profile;
};

struct GrowthTimes {
  std::string what;
  Configuration config;
  Timing training, langevin;
};

struct BenchResult {
  int threads = 0;
  std::string ours, peer;  // versions; peer may be empty
  std::string isa;         // of our side
  std::vector<FmaPeak> peaks;
  std::vector<Verification> verifications;
  std::vector<StepTimes> steps;
  std::vector<GrowthTimes> growth;

  bool verified() const;
  double peak_gflops() const;  // of the instruction set in use
};

// `say` gets a line of progress now and then. Stops after the verification when that fails or is all that was
// asked for.
BenchResult run_benchmark(const BenchOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace mdsm::bench
