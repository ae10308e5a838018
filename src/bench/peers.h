// The ways in which PyTorch can run here: every interpreter it was found in, in float32 and in bfloat16.
// Which of them work is tried out, as some end a process; the fastest one on a network is the peer there.
#pragma once

#include <string>
#include <vector>

#include "bench/turns.h"

namespace mdsm::bench {

struct PeerMode {
  Contestant side;
  std::string version;  // "PyTorch 2.6.0"
  std::string name;     // "float32", "bfloat16", "bfloat16 without AMX"
  engine::Precision precision = engine::Precision::float32;
  double seconds = 0;        // of a training step on a few images
  std::string problem = {};  // why it cannot run; empty where it can

  const std::string& python() const { return side.command.front(); }
  std::string text() const { return version + ", " + name; }
};

// One step of a mode at the size that is measured.
struct ModeTime {
  std::string mode;     // PeerMode::text()
  double seconds = 0;   // 0 where it could not run
  std::string problem;  // why not
};

struct FastestMode {
  PeerMode mode;
  std::vector<ModeTime> times;  // of all that were tried; empty where there was no choice
};

// Modes of every side given, each tried on a few images of the configuration. Float32 has to run on all of
// them: where it does not, that is the error. with_amx: this CPU has matrix units, which bfloat16 may do
// without.
std::vector<PeerMode> try_modes(const std::vector<Contestant>& sides, const Configuration& config,
                                const SideOptions& options, bool with_amx, const Say& say);

// The fastest of those that can run. `folder` holds the problem of the configuration.
FastestMode find_fastest(const std::vector<PeerMode>& modes, const Configuration& config,
                         const fs::path& folder, const std::string& request, SideOptions options,
                         const Say& say);

}  // namespace mdsm::bench
