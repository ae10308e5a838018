// Noise levels and the noise itself: which level each element of a batch gets, its weight in the objective,
// and the noisy images. The noise of a sample is a function of (seed, step, place in the batch) alone.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "core/enum_names.h"
#include "core/tensor.h"
#include "train/shards.h"

namespace mdsm::train {

enum class NoiseKind { geometric, linear, single };
constexpr auto enum_names(NoiseKind) {
  return names_of<NoiseKind>(
      {{NoiseKind::geometric, "geometric"}, {NoiseKind::linear, "linear"}, {NoiseKind::single, "single"}});
}

struct NoiseOptions {
  NoiseKind kind = NoiseKind::geometric;
  double sigma_min = 0.1, sigma_max = 3;
  double sigma = 0.3;       // the one level of single
  double weight_power = 2;  // p of l(sigma) = sigma^-p
};

void validate(const NoiseOptions& options);           // throws usage errors
nlohmann::json to_json(const NoiseOptions& options);  // as model files have it: what the kind uses

// One level per element of the batch, lowest first, both ends included (as numpy's linspace and geomspace).
std::vector<float> noise_levels(const NoiseOptions& options, int64_t batch);

// l(sigma_i) / batch: what TrainableEnergy::objective_gradient takes as weights for the mean over the batch.
std::vector<float> objective_weights(std::span<const float> levels, double weight_power);

// noisy_i = clean_i + sigma_i n_i for all images of the batch or some, with n_i from the stream of sample
// number step * batch + i.
void add_training_noise(ConstTensorView clean, std::span<const float> levels, uint64_t seed, int64_t step,
                        TensorView noisy, std::optional<ImageRange> only = {});

// The reported loss: mean of residual_i / sigma_i², in which neither sigma0 nor the weight shows.
double normalised_loss(std::span<const float> residual, std::span<const float> levels);

}  // namespace mdsm::train
