// Maximum likelihood by contrastive divergence: the energy goes down at the data, smoothed by sigma0 as the
// density is, and up at samples of the model after some Langevin steps. The baseline of the paper's claim on
// speed.
#pragma once

#include <vector>

#include "train/objective.h"

namespace mdsm::train {

enum class ChainsKind { persistent, noise };
constexpr auto enum_names(ChainsKind) {
  return names_of<ChainsKind>({{ChainsKind::persistent, "persistent"}, {ChainsKind::noise, "noise"}});
}

// Samples of the model by Langevin dynamics, and how they start.
struct LikelihoodOptions {
  int64_t steps = 30;
  double eps = 0.05;  // half of sigma0: larger steps cannot rest in a Gaussian as narrow as the kernel
  ChainsKind chains = ChainsKind::persistent;
  int64_t buffer = 1024;  // persistent chains kept
  double restart = 0.05;  // share of a training step's chains that start from noise again
  double energy_l2 = 0;
};

class LikelihoodObjective : public Objective {
 public:
  explicit LikelihoodObjective(const LikelihoodOptions& options = {}) : own_(options) {}

  void declare(OptionSet& set) override;
  std::vector<std::string> may_change() const override { return {"ml-steps", "ml-eps", "ml-energy-l2"}; }
  void validate(const TrainOptions& options) const override;
  size_t memory(const network::Spec& spec) const override;

  bool needs_whole_batch() const override { return false; }
  void begin(const TrainingContext& run) override;
  // loss: mean E of the data minus mean E of the samples, which are the statistics as well.
  void gradient(const TrainingContext& run, int64_t step, ConstTensorView clean, bool with_energy_of_data,
                StepResult& result) override;
  void applied() override;

  // The persistent chains, image after image.
  void save(StateWriter& to) const override;
  void load(StateReader& from, const network::Spec& spec) override;

  std::string log_line(const StatsRecord& record) const override;
  LossPanel loss_panel(const TrainOptions&) const override { return {"difference of energies", false, {}}; }

 private:
  bool persistent() const { return own_.chains == ChainsKind::persistent; }
  std::span<float> chain(uint32_t index);
  void start_samples(const TrainOptions& options, int64_t step);
  // False when a sample ran away.
  bool run_langevin(const TrainingContext& run, int64_t step);
  // Adds the shard's part of sign * mean dE/dtheta; `energy` gets the energies of its images. False where
  // one is not finite and was needed.
  bool add_energy_gradient(const TrainingContext& run, ImageRange shard, ConstTensorView x, double sign,
                           std::span<float> energy);

  LikelihoodOptions own_;
  std::vector<float> chains_;
  std::vector<uint32_t> drawn_;  // the chain of each sample
  std::vector<float> levels_, energy_, sample_energy_, weights_;
  Tensor noisy_, samples_, grad_x_;
};

}  // namespace mdsm::train
