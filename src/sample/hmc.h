// Samplers with a Metropolis test, exact at every step size: Hamiltonian Monte Carlo and MALA, which is HMC
// with one leapfrog step. Every chain has its own step size, adapted while it burns in, and its own accept
// decisions. At temperature T the momentum has variance T, so one eps serves all temperatures.
#pragma once

#include "sample/sampler.h"

namespace mdsm::sample {

struct HmcOptions {
  double eps = 0.05;      // first leapfrog step; adapted per chain
  int64_t leapfrog = 10;  // leapfrog steps a proposal, each a gradient evaluation
  double target = 0.65;   // acceptance aimed at
  int64_t burn_in = -1;   // steps with adaptation; 0 keeps eps as it is, -1: half of them at one temperature,
                          // all of them when the temperature changes
  bool jump = true;       // ends with x - sigma0² grad_x
};
HmcOptions mala_options();  // one leapfrog step, target 0.574, eps 0.02

// One proposal for each temperature.
Samples hmc(const Run& run, std::span<const double> temperatures, const HmcOptions& options = {});
Samples mala(const Run& run, std::span<const double> temperatures,
             const HmcOptions& options = mala_options());

// `steps` leapfrog steps of size eps[i] for each chain, in place. x, velocity, grad_x: (N,C,H,W); grad_x and
// energy belong to x before and after. Gradient evaluations: `steps`. Exposed for the test of reversibility.
// `diverged` (N): chains that left the finite range; their values are then meaningless.
void leapfrog(engine::EnergyModel& engine, TensorView x, TensorView velocity, TensorView grad_x,
              std::span<float> energy, std::span<const double> eps, int64_t steps,
              std::vector<uint8_t>& diverged);

}  // namespace mdsm::sample
