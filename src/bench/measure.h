// Runs a benchmark: verifies, measures the roof, then times both sides in turns. Knows nothing of tables and
// files; report.h makes those of the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/native_steps.h"
#include "bench/peak.h"
#include "bench/peers.h"
#include "bench/turns.h"
#include "bench/verify.h"

namespace mdsm::bench {

struct BenchOptions {
  std::vector<Configuration> configurations;
  bool growth = false;
  bool verify_only = false;
  bool likelihood = false;  // also an update of maximum likelihood, beside the training step
  bool busy = false;        // also a small network beside busy neighbours
  bool use_peer = true;
  std::vector<std::string> pythons;  // one is looked for where there is none
  std::string peer;                  // empty: looked for
  int64_t rounds = 0;                // 0: 5, or 3 where a round takes long
  int threads = 0;                   // 0: all
  uint64_t seed = 0;
  double timeout = 900;  // seconds for one answer of either side
};

struct StepTimes {
  Configuration config;
  Task task = Task::training;
  Timing ours, direct;                     // direct: ours with --exact
  std::optional<Timing> likelihood;        // ours, in turns with the training step; where asked for
  std::optional<Timing> one_thread;        // ours; absent where there is just one
  std::optional<Timing> bfloat16;          // ours, where this CPU has it
  std::optional<Timing> peer, peer_input;  // peer_input: Langevin without gradients by the weights
  std::string peer_mode;                   // which of those tried: PeerMode::text()
  std::vector<ModeTime> modes;             // those tried, where there was a choice
  Profile profile;

  // The peer at its best: by x only for Langevin.
  const std::optional<Timing>& best_peer() const { return task == Task::langevin ? peer_input : peer; }
};

struct GrowthTimes {
  std::string what;
  Configuration config;
  Timing training, langevin;
};

// A small network alone, or beside programs that keep as many cores busy.
struct BusyTimes {
  Configuration config;
  Task task = Task::training;
  int neighbours = 0;
  Timing all_threads, one_thread;

  double ratio() const { return all_threads.spread().median / one_thread.spread().median; }
};

struct BenchResult {
  int threads = 0;
  std::string ours, peer;  // versions; peer may be empty, or several
  std::string isa;         // of our side
  std::vector<FmaPeak> peaks;
  std::vector<PeerMode> modes;
  std::vector<Verification> verifications;
  std::vector<StepTimes> steps;
  std::vector<GrowthTimes> growth;
  std::vector<BusyTimes> busy;

  bool verified() const;
  double peak_gflops() const;  // of the instruction set in use
  double tile_gflops() const;  // of the matrix units; 0 where there are none
};

// `say` gets a line of progress now and then. Stops after the verification when that fails or is all that was
// asked for.
BenchResult run_benchmark(const BenchOptions& options, const Say& say);

}  // namespace mdsm::bench
