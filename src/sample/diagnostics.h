// How far chains can be trusted: split R-hat and effective sample size of a scalar (an energy, a pixel) that
// several chains have drawn at one temperature.
#pragma once

#include <cstdint>
#include <span>

namespace mdsm::sample {

struct ChainDiagnostics {
  int64_t chains = 0, draws = 0;
  double mean = 0;
  double variance = 0;  // of the distribution, between and within chains together
  double r_hat = 0;     // split: near 1 when the halves of all chains agree; NaN with fewer than 4 draws
  double ess = 0;       // effective number of independent draws of all chains together
  double standard_error() const;  // of the mean: sqrt(variance / ess)
};

// values: (draws x chains), as Samples::energy_draws.
ChainDiagnostics diagnose(std::span<const float> values, int64_t chains);

}  // namespace mdsm::sample
