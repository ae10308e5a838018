// Maximum likelihood by contrastive divergence: the energy goes down at the data, smoothed by sigma0 as the
// density is, and up at samples of the model after some Langevin steps. The baseline of the paper's claim on
// speed.
#pragma once

#include <vector>

#include "train/objective.h"

namespace mdsm::train {

class LikelihoodObjective : public Objective {
 public:
  LikelihoodObjective(engine::TrainableEnergy& engine, const TrainOptions& options, std::vector<float>& chains,
                      TrainObserver& observer);

  // loss: mean E of the data minus mean E of the samples.
  void gradient(int64_t step, ConstTensorView clean, bool with_energy_of_data, StepResult& result) override;
  void applied() override;
  double adam_epsilon() const override { return 1e-8; }

 private:
  bool persistent() const { return options_.ml.chains == "persistent"; }
  std::span<float> chain(uint32_t index);
  void start_samples(int64_t step);
  // False when a sample ran away.
  bool run_langevin(int64_t step);
  // Adds sign * mean dE/dtheta; energy_ gets the energies. Returns their mean.
  double add_energy_gradient(ConstTensorView x, double sign);

  engine::TrainableEnergy& engine_;
  const TrainOptions& options_;
  TrainObserver& observer_;
  std::vector<float>& chains_;
  std::vector<uint32_t> drawn_;  // the chain of each sample
  std::vector<float> levels_, energy_, weights_;
  Tensor noisy_, samples_, grad_x_;
};

}  // namespace mdsm::train
