#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mdsm {
namespace {

double mean(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Levels rise along the batch, so its quarters are the quarters of the noise range.
std::array<double, 4> quarter_losses(std::span<const float> residual, std::span<const float> levels) {
  std::array<double, 4> losses{};
  for (size_t q = 0; q < 4; ++q) {
    const size_t begin = residual.size() * q / 4, count = residual.size() * (q + 1) / 4 - begin;
    losses[q] = normalised_loss(residual.subspan(begin, count), levels.subspan(begin, count));
  }
  return losses;
}

LoaderOptions loader_options(const TrainOptions& options, bool flip, int64_t first_step) {
  LoaderOptions loader;
  loader.batch = options.batch;
  loader.seed = static_cast<uint64_t>(options.seed);
  loader.flip = flip;
  loader.first_step = first_step;
  return loader;
}

}  // namespace

Trainer::Trainer(Engine& engine, const Dataset& data, const TrainOptions& options, bool flip,
                 int64_t first_step, TrainObserver& observer)
    : engine_(engine),
      options_(options),
      observer_(observer),
      loader_(data, loader_options(options, flip, first_step)),
      step_(first_step),
      levels_(noise_levels(options.noise, options.batch)),
      weights_(objective_weights(levels_, options.noise.weight_power)),
      residual_(levels_.size()),
      energy_(levels_.size()),
      noisy_(engine.spec().input(options.batch)) {}

StepResult Trainer::update(bool with_energy_of_data) {
  const Tensor clean = loader_.next();
  add_training_noise(clean, levels_, static_cast<uint64_t>(options_.seed), step_, noisy_);
  observer_.on_batch(step_, clean, noisy_, levels_);

  StepResult result;
  result.lr = learning_rate(options_.schedule, step_);
  if (with_energy_of_data) result.energy_data = mean_energy(clean);

  engine_.zero_gradient();
  for (int64_t first = 0; first < options_.batch; first += options_.micro()) {
    const int64_t count = std::min(options_.micro(), options_.batch - first);
    const auto part = [&](std::vector<float>& v) {
      return std::span(v).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    };
    engine_.objective_gradient(clean.view().images(first, count), noisy_.view().images(first, count),
                               part(weights_), part(residual_), part(energy_));
  }
  result.loss = normalised_loss(residual_, levels_);
  result.quarters = quarter_losses(residual_, levels_);
  result.energy_noise = mean(energy_);
  result.grad_norm = engine_.gradient_norm();
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) return result;

  AdamStep adam;
  adam.step = step_ + 1;
  adam.lr = result.lr;
  adam.beta1 = options_.beta1;
  adam.beta2 = options_.beta2;
  adam.epsilon = 1e-8 * std::pow(options_.sigma0, 4);  // the authors' 1e-8 is for a loss 1/sigma0⁴ as large
  adam.ema = ema_decay(options_.ema, step_);
  if (options_.clip > 0 && result.grad_norm > options_.clip)
    adam.gradient_scale = options_.clip / result.grad_norm;
  engine_.optimiser_step(adam);
  ++step_;
  result.applied = true;
  observer_.on_step(step_, result);
  return result;
}

double Trainer::mean_energy(ConstTensorView x) {
  for (int64_t first = 0; first < x.shape.n; first += options_.micro()) {
    const int64_t count = std::min(options_.micro(), x.shape.n - first);
    engine_.energy(x.images(first, count),
                   std::span(energy_).subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
  }
  return mean(energy_);
}

}  // namespace mdsm
