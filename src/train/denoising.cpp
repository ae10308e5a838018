#include "train/denoising.h"

#include <algorithm>
#include <cmath>

#include "train/importance.h"

namespace mdsm::train {
namespace {

// Levels rise along the batch, so its quarters are the quarters of the noise range.
std::array<double, 4> quarter_losses(std::span<const float> residual, std::span<const float> levels) {
  std::array<double, 4> losses{};
  for (size_t q = 0; q < 4; ++q) {
    const size_t begin = residual.size() * q / 4, count = residual.size() * (q + 1) / 4 - begin;
    losses[q] = normalised_loss(residual.subspan(begin, count), levels.subspan(begin, count));
  }
  return losses;
}

}  // namespace

DenoisingObjective::DenoisingObjective(engine::TrainableEnergy& engine, const TrainOptions& options, TrainObserver& observer)
    : engine_(engine),
      options_(options),
      observer_(observer),
      levels_(noise_levels(options.noise, options.batch)),
      weights_(objective_weights(levels_, options.noise.weight_power)),
      residual_(levels_.size()),
      energy_(levels_.size()),
      noisy_(engine.spec().input(options.batch)) {}

void DenoisingObjective::gradient(int64_t step, ConstTensorView clean, bool with_energy_of_data,
                                  StepResult& result) {
  add_training_noise(clean, levels_, static_cast<uint64_t>(options_.seed), step, noisy_);
  observer_.on_batch(step, clean, noisy_, levels_);
  if (with_energy_of_data) result.energy_data = mean_energy(clean);

  std::vector<float> weights = weights_;
  if (options_.importance == "batch") {
    const std::vector<double> ratio = importance_weights(clean, noisy_, levels_, options_.sigma0);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] *= static_cast<float>(ratio[i]);
    result.effective = effective_share(ratio);
  }
  for_micro_batches(options_, [&](int64_t first, int64_t count) {
    const auto part = [&](std::vector<float>& v) {
      return std::span(v).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    };
    engine_.objective_gradient(clean.images(first, count), noisy_.view().images(first, count), part(weights),
                               part(residual_), part(energy_));
  });
  // The same sum with and without importance weights, so that the two can be compared.
  result.loss = normalised_loss(residual_, levels_);
  result.quarters = quarter_losses(residual_, levels_);
  result.energy_noise = mean(energy_);
}

// The authors' 1e-8 is for a loss 1/sigma0⁴ as large.
double DenoisingObjective::adam_epsilon() const { return 1e-8 * std::pow(options_.sigma0, 4); }

double DenoisingObjective::mean_energy(ConstTensorView x) {
  for_micro_batches(options_, [&](int64_t first, int64_t count) {
    engine_.energy(x.images(first, count),
                   std::span(energy_).subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
  });
  return mean(energy_);
}

}  // namespace mdsm::train
