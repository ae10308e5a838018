// Few-step samplers that use the denoising residual d = sigma0² grad_x instead of a temperature. The network
// is told no noise level by either.
//
// fast_blind: noise-blind coarse to fine (Kadkhodaie & Simoncelli). The residual itself says how much noise
// is left, sigma = ‖d‖/sqrt(pixels); step t removes a share h = h0 t/(1 + h0 (t-1)) of it and puts so much
// noise back that (1 - beta h) sigma is left, half of it drawn in the step before (blind.h says why). A
// sample is done at sigma < sigma_end and leaves the batch.
//
// ode: deterministic integration of dx/dsigma = d/sigma down a grid of noise levels (rho = 7).
//
// Both begin with a few hot steps, which put back all the noise they remove: Langevin steps at the noise
// level of the start, after which the sample has forgotten that the start was grey. A start given by the
// caller is not to be forgotten, so there are none then.
#pragma once

#include "core/enum_names.h"
#include "sample/sampler.h"

namespace mdsm::sample {

struct FastOptions {
  double h0 = 0.03;           // share of the residual removed in the first step, in (0, 1]
  double beta = 0.1;          // 1: no fresh noise, 0: as much as was removed
  double sigma_end = 0.1;     // done below this noise level
  int64_t evaluations = 100;  // most gradient evaluations a sample, the final jump's included
  bool jump = true;           // ends with x - d
  int64_t hot = 20;           // hot steps at sigma_max; at most a quarter of evaluations
  double sigma_max =
      1;  // noise of the start; images out of nothing are best from the highest of the training
};
// Without a given start, 0.5 + sigma_max n.
Samples fast_blind(const Run& run, const FastOptions& options = {});

enum class OdeMethod { euler, heun };
constexpr auto enum_names(OdeMethod) {
  return names_of<OdeMethod>({{OdeMethod::euler, "euler"}, {OdeMethod::heun, "heun"}});
}

struct OdeOptions {
  OdeMethod method = OdeMethod::heun;
  int64_t steps = 15;  // grid intervals; euler costs one evaluation each, heun two, the jump one more
  double sigma_max = 1, sigma_min = 0.05;
  double rho = 7;    // 1 spaces the grid evenly, larger puts more levels near sigma_min
  bool jump = true;  // from sigma_min to 0
  int64_t hot = 20;  // hot steps at sigma_max, an evaluation each
};
// Without a given start, 0.5 + sigma_max n.
Samples ode(const Run& run, const OdeOptions& options = {});
// steps + 1 levels from sigma_max down to sigma_min.
std::vector<double> noise_grid(const OdeOptions& options);

}  // namespace mdsm::sample
