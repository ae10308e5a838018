// One update after the other: the objective on a noisy batch, checked, clipped and given to Adam. Knows
// neither files nor screens; session.h puts a run folder around it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"
#include "engine/engine.h"
#include "train/stats.h"
#include "train/train_options.h"

namespace mdsm {

// Sees what training does. For the progress display and for tests.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  // The batch of update number `step` (0 for the first), before it is used.
  virtual void on_batch(int64_t /*step*/, ConstTensorView /*clean*/, ConstTensorView /*noisy*/,
                        std::span<const float> /*sigma*/) {}
  virtual void on_step(int64_t /*done*/, const StepResult& /*result*/) {}
  virtual void on_stats(const StatsRecord& /*record*/) {}
};

class Trainer {
 public:
  // Starts after `first_step` updates; the engine holds the state of that moment. Keeps references to all.
  Trainer(Engine& engine, const Dataset& data, const TrainOptions& options, bool flip, int64_t first_step,
          TrainObserver& observer);

  int64_t step() const { return step_; }  // updates done

  // One update. When loss or gradient is not finite, nothing is changed and the result says so.
  StepResult update(bool with_energy_of_data);

 private:
  double mean_energy(ConstTensorView x);

  Engine& engine_;
  const TrainOptions& options_;
  TrainObserver& observer_;
  Loader loader_;
  int64_t step_;
  std::vector<float> levels_, weights_, residual_, energy_;
  Tensor noisy_;
};

}  // namespace mdsm
