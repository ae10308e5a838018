// fast: the noise-blind sampler with its options. Also what restoration is set with.
#pragma once

#include "sample/fast.h"
#include "sample/registry.h"

namespace mdsm::sample {

class FastSampler : public Sampler {
 public:
  void declare(OptionSet& options) override;
  void resolve(OptionSet& options, const nlohmann::json& info) override;
  Samples draw(const Run& run) const override { return fast_blind(run, options_); }

  const FastOptions& options() const { return options_; }

 private:
  FastOptions options_;
};

// --sigma-max and --hot, which the few-step samplers share: for the classes of this folder.
void declare_noise_start(OptionSet& options, double& sigma_max, int64_t& hot);
// By default the highest noise of the model's training: the more noise, the sooner a start is forgotten, but
// the network knows nothing about noise above what it was trained on. Nothing is taken from levels up to
// sigma_min.
void take_noise_range(OptionSet& options, const nlohmann::json& info, double sigma_min);

// --sigma-min must be below --sigma-max.
void check_noise_levels(double sigma_min, double sigma_max);

}  // namespace mdsm::sample
