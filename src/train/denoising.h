// Denoising score matching, at many noise levels (the paper's objective) or at one, with or without the
// importance weights that the paper leaves out.
#pragma once

#include <vector>

#include "train/objective.h"

namespace mdsm::train {

class DenoisingObjective : public Objective {
 public:
  DenoisingObjective(engine::TrainableEnergy& engine, const TrainOptions& options, TrainObserver& observer);

  void gradient(int64_t step, ConstTensorView clean, bool with_energy_of_data, StepResult& result) override;
  double adam_epsilon() const override;

 private:
  double mean_energy(ConstTensorView x);

  engine::TrainableEnergy& engine_;
  const TrainOptions& options_;
  TrainObserver& observer_;
  std::vector<float> levels_, weights_, residual_, energy_;
  Tensor noisy_;
};

}  // namespace mdsm::train
