// What `mdsm check` does with one network: random images and noise, then the native engine against the
// LibTorch engine on everything an engine computes, and the native engine's gradients against central
// differences of what they are gradients of. Printing is the command's.
#pragma once

#include <string>
#include <vector>

#include "engine/check_engine.h"

namespace mdsm::engine {

struct NetworkCheckOptions {
  int64_t batch = 4;
  uint64_t seed = 0;           // of images and noise
  std::string device = "cpu";  // of the LibTorch engine
  CheckTolerance tolerance = {};
};

struct NetworkCheck {
  std::string tested, reference;  // names of the engines
  std::vector<Difference> differences;

  bool ok() const;
  // The one that uses most of its tolerance.
  const Difference& worst() const;
  const Difference& at(const std::string& what) const;
};

NetworkCheck check_network(const network::Parameters& parameters, const NetworkCheckOptions& options);

// The networks `mdsm check --all` runs through: every network, head, 1 and 3 channels, 32 and 64 pixels at
// width 8, then res12 at width 64.
std::vector<network::Spec> check_matrix();

}  // namespace mdsm::engine
