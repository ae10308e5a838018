// Both sides on the same weights and images, before anything is timed: energies, input gradients, residuals
// and the whole parameter gradient. A benchmark of something wrong is worth nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/party.h"
#include "engine/check_engine.h"

namespace mdsm::bench {

// Of every vector, ‖a - b‖ / ‖b‖, in float32 and in bfloat16, whose factors have 8 bits.
constexpr double kVerifyTolerance = 1e-4, kBfloat16Tolerance = 5e-2;

struct Verification {
  Configuration config;
  std::string kernels;    // of our side: "avx2", "avx2, direct", "bfloat16"
  std::string reference;  // "PyTorch 1.13.0"; "generic" where there is no peer
  std::vector<engine::Difference> differences;

  bool ok() const;
};

// Relative error of what two sides wrote to their folders.
std::vector<engine::Difference> compare_folders(const fs::path& tested, const fs::path& reference,
                                                const Configuration& config,
                                                double tolerance = kVerifyTolerance);

// Our side with every instruction set this CPU has, on at most 8 images, then with the one in use on the
// whole batch (by the direct path and, where asked for, in bfloat16 too), each against the peer in float32
// or, without one, against our plainest instruction set. What is timed as ours runs twice and must give the
// same bits, which is one more "difference": "second run".
std::vector<Verification> verify_sides(const Configuration& config, const Contestant& ours,
                                       const Contestant* peer, const SideOptions& options, bool bfloat16);

}  // namespace mdsm::bench
