// One update after the other: the objective's gradient on a batch, checked, clipped and given to Adam. Knows
// neither files nor screens; session.h puts a run folder around it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"
#include "engine/trainable_energy.h"
#include "train/objective.h"
#include "train/observer.h"
#include "train/stats.h"
#include "train/train_options.h"

namespace mdsm::train {

class Trainer {
 public:
  // Starts after `first_step` updates; the engine, and `chains` where the objective keeps some, hold the
  // state of that moment. Keeps references to all.
  Trainer(engine::TrainableEnergy& engine, const data::Dataset& data, const TrainOptions& options, bool flip, int64_t first_step,
          std::vector<float>& chains, TrainObserver& observer);

  int64_t step() const { return step_; }  // updates done

  // One update. When loss or gradient is not finite, nothing is changed and the result says so.
  StepResult update(bool with_energy_of_data);

 private:
  engine::TrainableEnergy& engine_;
  const TrainOptions& options_;
  TrainObserver& observer_;
  data::Loader loader_;
  std::unique_ptr<Objective> objective_;
  int64_t step_;
};

}  // namespace mdsm::train
