// The arithmetic of a sampling step on one image, each a single pass over it. For samplers,
// restoration and the chains of maximum-likelihood training.
#pragma once

#include <cstdint>
#include <span>

#include "core/random.h"
#include "sample/noise.h"

namespace mdsm::sample {

// Images a thread should have at least, for parallel_for: below this, starting a thread costs more than it
// saves.
int64_t rows_per_thread(int64_t pixels);

// False when a value is not finite or so large that the chain has run away.
bool within_range(std::span<const float> x);

// x += factor * g. Returns within_range of the result, as the next one does.
bool drift(std::span<float> x, std::span<const float> g, float factor);
// x += factor * g + scale * n.
bool drift_and_diffuse(std::span<float> x, std::span<const float> g, float factor, float scale, Noise n);
// The same with the mean of two n.
bool drift_and_diffuse(std::span<float> x, std::span<const float> g, float factor, float scale, Noise before,
                       Noise after);

// A Langevin step at temperature 1, x += -eps²/2 g + eps n, with n from a stream that goes on from step to
// step.
bool langevin_step(std::span<float> x, std::span<const float> g, double eps, RandomStream& stream);

double sum_of_squares(std::span<const float> values);
// sigma0² ‖g‖ / sqrt(pixels)
float noise_level(double sigma0, std::span<const float> g);

}  // namespace mdsm::sample
