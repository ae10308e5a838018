// Denoising score matching, at many noise levels (mdsm, the paper's objective) or at one (single), with or
// without the importance weights that the paper leaves out.
#pragma once

#include <vector>

#include "train/importance.h"
#include "train/learned_weights.h"
#include "train/objective.h"

namespace mdsm::train {

enum class Levels { many, one };

class DenoisingObjective : public Objective {
 public:
  explicit DenoisingObjective(Levels levels) : levels_kind_(levels) {}

  void declare(OptionSet& set) override;
  void resolve(OptionSet& set) override;
  void validate(const TrainOptions& options) const override;

  // The posteriors of importance weights are over the whole batch.
  bool needs_whole_batch() const override { return importance_ == Importance::batch; }
  void begin(const TrainingContext& run) override;
  // loss: mean of ‖residual‖²/sigma². Statistics: the same over each quarter of the noise levels, lowest
  // first (NaN if empty); mean E of the clean batch, and of the noisy one; the share of the batch that counts
  // under importance weights.
  void gradient(const TrainingContext& run, int64_t step, ConstTensorView clean, bool with_energy_of_data,
                StepResult& result) override;
  void applied() override;
  double adam_epsilon(const TrainOptions& options) const override;
  void save(StateWriter& to) const override;
  void load(StateReader& from, const network::Spec& spec) override;

  std::string log_line(const StatsRecord& record) const override;
  std::optional<double> flat_loss(const network::Spec& spec) const override;
  LossPanel loss_panel(const TrainOptions& options) const override;
  NoiseOptions preview_noise(const NoiseOptions&) const override { return noise_; }
  nlohmann::json trained() const override;
  nlohmann::json sampling(const TrainOptions& options) const override;

 private:
  bool trains_denoiser(int64_t step) const { return step < denoiser_steps_; }
  double mean_energy(const TrainingContext& run, ConstTensorView x);
  double loss_of(const TrainOptions& options, ImageRange images) const;
  double mean_of_energies(const TrainOptions& options) const;

  Levels levels_kind_;
  NoiseOptions noise_;
  Importance importance_ = Importance::none;
  Weighting weighting_ = Weighting::power;
  int64_t denoiser_steps_ = 0;
  LearnedWeights learned_;
  std::vector<float> levels_, weights_, residual_, energy_;
  Tensor noisy_;
};

}  // namespace mdsm::train
