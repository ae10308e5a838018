// Sees what training does. For the progress display and for tests.
#pragma once

#include <cstdint>
#include <span>

#include "core/tensor.h"
#include "train/stats.h"

namespace mdsm::train {

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  // The batch of step number `step` (0 for the first), before it is used.
  virtual void on_batch(int64_t /*step*/, ConstTensorView /*clean*/, ConstTensorView /*noisy*/,
                        std::span<const float> /*sigma*/) {}
  virtual void on_step(int64_t /*done*/, const StepResult& /*result*/) {}
  virtual void on_stats(const StatsRecord& /*record*/) {}
};

}  // namespace mdsm::train
