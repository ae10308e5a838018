// Langevin samplers without an accept step: the paper's annealed sampler and the same at one temperature.
// The step is x <- x - eps²/2 grad_x + eps sqrt(T) n, whose equilibrium is exp(-E/T) for small eps.
#pragma once

#include "sample/sampler.h"
#include "sample/schedule.h"

namespace mdsm::sample {

struct LangevinOptions {
  double eps = 0.02;
  bool jump = true;  // ends with x - sigma0² grad_x
};

// The paper's sampler; a step for each temperature.
Samples annealed_langevin(const Run& run, std::span<const double> temperatures,
                          const LangevinOptions& options = {});

struct FixedTemperatureOptions {
  double temperature = 1;
  int64_t steps = 1000;
  int64_t burn_in = -1;  // steps left out of energy_draws; -1: half of them
};

// The single-noise experiment: annealed_langevin at one temperature, with energies for the diagnostics.
Samples langevin(const Run& run, const FixedTemperatureOptions& fixed, const LangevinOptions& options = {});

}  // namespace mdsm::sample
