// The loop of the noise-blind sampler for any residual: fast_blind() and restore() differ in nothing else.
// Internal to this folder.
#pragma once

#include "sample/chains.h"
#include "sample/fast.h"

namespace mdsm::sample {

// Writes the residual of sample `index` of the run to d, given x and grad_x there. Called from several
// threads.
using Residual = std::function<void(int64_t index, std::span<const float> x, std::span<const float> grad_x,
                                    std::span<float> d)>;

Samples run_blind(const Run& run, const FastOptions& options, const Residual& residual);

// The share of the noise that a hot step replaces.
// Large enough to forget the start in ten steps. The error such a step makes is that of noise this strong,
// which the steps after it remove.
inline constexpr double kHotShare = 0.5;

// Noise of the noise-blind sampler and of hot steps. Step t moves x by -h d + c (n_t + n_{t+1}) / 2: every
// normal draw serves two steps, half in each. With fresh noise in every step instead, a step h would shrink
// what the residual cannot tell from noise yet, strokes as well as noise: the variance v of a Gaussian
// direction loses h² sigma² v/(v + sigma²) a step. Here it loses beta times that, nothing in a hot step
// (docs/design/sampling.md).
//
// The scale c that leaves the share `kept` of sigma, where `previous` was the scale of the step before. Half
// of n_t is in x already:
//   (kept sigma)² = (1 - h)² sigma² + c²/2 + (1 - h) c previous / 2.
double blended_scale(double h, double kept, double sigma, double previous);
// x of the row += -factor along + scale (n_step + n_{step+1}) / 2. Returns within_range of the result.
bool blended_step(Chains& chains, int64_t row, int64_t step, std::span<const float> along, double factor,
                  double scale);

}  // namespace mdsm::sample
