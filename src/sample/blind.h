// The loop of the noise-blind sampler for any residual: fast_blind() and restore() differ in nothing else.
// Internal to this folder.
#pragma once

#include "sample/fast.h"

namespace mdsm {

// Writes the residual of sample `index` of the run to d, given x and grad_x there. Called from several
// threads.
using Residual = std::function<void(int64_t index, std::span<const float> x, std::span<const float> grad_x,
                                    std::span<float> d)>;

Samples run_blind(const Run& run, const FastOptions& options, const Residual& residual);

// The share of the noise that a hot step replaces.
// Large enough to forget the start in ten steps. The error such a step makes is that of noise this strong,
// which the steps after it remove.
inline constexpr double kHotShare = 0.5;

}  // namespace mdsm
