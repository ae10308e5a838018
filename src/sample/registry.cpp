#include "sample/registry.h"

#include "core/error.h"
#include "sample/annealed_sampler.h"
#include "sample/fast_sampler.h"

namespace mdsm::sample {

std::unique_ptr<Sampler> make_langevin_sampler();
std::unique_ptr<Sampler> make_mala_sampler();
std::unique_ptr<Sampler> make_hmc_sampler();
std::unique_ptr<Sampler> make_multistep_sampler();
std::unique_ptr<Sampler> make_ode_sampler();

Registry<SamplerRow>& samplers() {
  static Registry<SamplerRow> table(
      "sampler", {{"multistep", "down the noise levels in 35 evaluations, by steps of second order",
                   make_multistep_sampler},
                  {"annealed", "the paper's annealed Langevin dynamics",
                   [] { return std::make_unique<AnnealedSampler>(); }},
                  {"langevin", "Langevin dynamics at one temperature", make_langevin_sampler},
                  {"mala", "Langevin proposals with a Metropolis test", make_mala_sampler},
                  {"hmc", "Hamiltonian Monte Carlo", make_hmc_sampler},
                  {"fast", "noise-blind, coarse to fine, in some 80 evaluations",
                   [] { return std::make_unique<FastSampler>(); }},
                  {"ode", "deterministic integration down the noise levels", make_ode_sampler}});
  return table;
}

void check_steps_given(const OptionSet& options, int64_t steps) {
  if (options.given("steps") && steps == 0)
    fail_usage("use 1 or more, or leave it out", "--steps: '0' is no number of steps");
}

}  // namespace mdsm::sample
