#include "train/trainer.h"

#include <cmath>

namespace mdsm::train {
namespace {

data::LoaderOptions loader_options(const TrainingContext& run, const Objective& objective, bool flip,
                                   int64_t first_step) {
  const TrainOptions& options = run.options;
  data::LoaderOptions loader;
  if (!objective.needs_whole_batch()) {
    loader.first_image = run.own_images().first;
    loader.images = run.own_images().count;
  }
  loader.batch = options.batch;
  loader.seed = static_cast<uint64_t>(options.seed);
  loader.augment = options.augment;
  loader.augment.flip = flip;
  loader.first_step = first_step;
  return loader;
}

}  // namespace

Trainer::Trainer(engine::TrainableEnergy& engine, const data::Dataset& data, const TrainOptions& options,
                 Objective& objective, bool flip, int64_t first_step, TrainObserver& observer,
                 distributed::Communicator& world)
    : rank_sum_(world, options.shards),
      run_{engine, options, observer, &sum_, world, &rank_sum_},
      objective_(objective),
      loader_(data, loader_options(run_, objective, flip, first_step)),
      step_(first_step) {
  objective.begin(run_);
}

StepResult Trainer::take_step(bool with_energy_of_data) {
  const TrainOptions& options = run_.options;
  const Tensor clean = loader_.next();
  StepResult result;
  result.lr = learning_rate(options.schedule, step_);
  run_.engine.zero_gradient();
  objective_.gradient(run_, step_, clean, with_energy_of_data, result);
  result.grad_norm = run_.engine.gradient_norm();
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) return result;

  engine::OptimiserStep update;
  update.step = step_ + 1;
  update.optimiser = options.optimiser;
  update.lr = result.lr;
  update.beta1 = options.beta1;
  update.beta2 = options.beta2;
  update.weight_decay = options.weight_decay;
  update.epsilon = objective_.adam_epsilon(options);
  update.ema = ema_decay(options.ema, step_);
  if (options.clip > 0 && result.grad_norm > options.clip)
    update.gradient_scale = options.clip / result.grad_norm;
  run_.engine.optimiser_step(update);
  objective_.applied();
  ++step_;
  result.applied = true;
  run_.observer.on_step(step_, result);
  return result;
}

}  // namespace mdsm::train
