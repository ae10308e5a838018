// Both sides on the same weights and images, before anything is timed: energies, input gradients, residuals
// and the whole parameter gradient. A benchmark of something wrong is worth nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/party.h"
#include "engine/check_engine.h"

namespace mdsm::bench {

constexpr double kVerifyTolerance = 1e-4;  // of every vector, ‖a - b‖ / ‖b‖

struct Verification {
  Configuration config;
  std::string kernels;    // of our side: "avx2", "avx2, direct"
  std::string reference;  // "PyTorch 1.13.0"; "generic" where there is no peer
  std::vector<engine::Difference> differences;

  bool ok() const;
};

// Relative error of what two sides wrote to their folders.
std::vector<engine::Difference> compare_folders(const fs::path& tested, const fs::path& reference,
                                                const Configuration& config);

// Our side with every instruction set this CPU has, on at most 8 images, then with the one in use on the
// whole batch (by the direct path too), each against the peer or, without one,
// against our plainest instruction set. The last runs twice and must give the same bits, which is one more
// "difference": "second run".
std::vector<Verification> verify_sides(const Configuration& config, const Contestant& ours,
                                       const Contestant* peer, const SideOptions& options);

}  // namespace mdsm::bench
