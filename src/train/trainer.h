// One training step after the other: the objective's gradient on a batch, checked, clipped and given to Adam.
// Knows neither files nor screens; session.h puts a run folder around it.
#pragma once

#include <cstdint>

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
  // Starts after `first_step` steps; the engine and the objective hold the state of that moment. Keeps
  // references to all.
  Trainer(engine::TrainableEnergy& engine, const data::Dataset& data, const TrainOptions& options,
          Objective& objective, bool flip, int64_t first_step, TrainObserver& observer,
          distributed::Communicator& world = distributed::alone());

  int64_t step() const { return step_; }                // steps done
  double waited() const { return rank_sum_.waited(); }  // seconds for other processes

  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // One training step. When loss or gradient is not finite, nothing is changed and the result says so.
  StepResult take_step(bool with_energy_of_data);

 private:
  TreeSum sum_;
  RankSum rank_sum_;
  TrainingContext run_;
  Objective& objective_;
  data::Loader loader_;
  int64_t step_;
};

}  // namespace mdsm::train
