// multistep: down a grid of noise levels, evenly spaced in their logarithm, with one gradient evaluation a
// step and an error of second order in its length. Only the ratio of two levels enters what is done with x,
// so the network stays blind.
//
// With D = x - sigma0² grad_x, q = sigma'/sigma the ratio, and c the churn,
//
//   x <- a x + (1 - a) (3 D - D_before)/2 + sigma' sqrt(1 - q^(2c)) n,   a = q^(1+c)
//
// where D_before is that of the step before (the first step has D alone). c = 0 is the deterministic flow,
// c = 1 the reverse of the noising process, more takes out more noise than that in every step and puts it
// back. docs/design/sampling.md derives it.
//
// It begins with hot steps, as fast and ode do (fast.h); there are none where the caller gives the start.
//
// With a guide, a weaker model of the same images, D + w (D - D_guide) takes the place of D between two noise
// levels: what the weaker model gets wrong, the stronger one gets wrong a little, too, and is led away from
// (autoguidance; Karras et al., 2024).
//
// With an attraction, v sigma² grad log p(c|x) is added to D between two noise levels of its own: by Bayes'
// rule v = 1 makes samples of p(x|c), more of it clearer members of the class (classifier guidance; Dhariwal
// and Nichol, 2021).
#pragma once

#include "sample/sampler.h"

namespace mdsm::sample {

struct MultistepOptions {
  int64_t steps = 31;  // from sigma_max to sigma_min
  int64_t hot = 3;  // hot steps at sigma_max before them; every step costs an evaluation, the jump one more
  double sigma_max = 1, sigma_min = 0.1;
  double churn = 4;
  bool jump = true;  // from sigma_min to 0
  // Where the run has a guide: w, and the noise levels between which it is asked.
  double guidance = 0.3, guidance_min = 0.2, guidance_max = 1;
  // Where it has an attraction: v, and its noise levels.
  double class_weight = 8, class_min = 0.15, class_max = 1.5;
};
// Without a given start, 0.5 + sigma_max n.
Samples multistep(const Run& run, const MultistepOptions& options = {});

}  // namespace mdsm::sample
