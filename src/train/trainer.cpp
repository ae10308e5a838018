#include "train/trainer.h"

#include <cmath>

namespace mdsm::train {
namespace {

data::LoaderOptions loader_options(const TrainOptions& options, bool flip, int64_t first_step) {
  data::LoaderOptions loader;
  loader.batch = options.batch;
  loader.seed = static_cast<uint64_t>(options.seed);
  loader.flip = flip;
  loader.first_step = first_step;
  return loader;
}

}  // namespace

Trainer::Trainer(engine::TrainableEnergy& engine, const data::Dataset& data, const TrainOptions& options, bool flip,
                 int64_t first_step, std::vector<float>& chains, TrainObserver& observer)
    : engine_(engine),
      options_(options),
      observer_(observer),
      loader_(data, loader_options(options, flip, first_step)),
      objective_(make_objective(engine, options, chains, observer)),
      step_(first_step) {}

StepResult Trainer::update(bool with_energy_of_data) {
  const Tensor clean = loader_.next();
  StepResult result;
  result.lr = learning_rate(options_.schedule, step_);
  engine_.zero_gradient();
  objective_->gradient(step_, clean, with_energy_of_data, result);
  result.grad_norm = engine_.gradient_norm();
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) return result;

  engine::AdamStep adam;
  adam.step = step_ + 1;
  adam.lr = result.lr;
  adam.beta1 = options_.beta1;
  adam.beta2 = options_.beta2;
  adam.epsilon = objective_->adam_epsilon();
  adam.ema = ema_decay(options_.ema, step_);
  if (options_.clip > 0 && result.grad_norm > options_.clip)
    adam.gradient_scale = options_.clip / result.grad_norm;
  engine_.optimiser_step(adam);
  objective_->applied();
  ++step_;
  result.applied = true;
  observer_.on_step(step_, result);
  return result;
}

}  // namespace mdsm::train
