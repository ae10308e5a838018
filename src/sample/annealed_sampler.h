// annealed: the paper's sampler with its options. Also what inpainting by annealing is set with.
#pragma once

#include "sample/langevin.h"
#include "sample/registry.h"
#include "sample/temperatures.h"

namespace mdsm::sample {

class AnnealedSampler : public Sampler {
 public:
  void declare(OptionSet& options) override;
  void resolve(OptionSet& options, const nlohmann::json& info) override;
  Samples draw(const Run& run) const override;
  std::optional<Tensor> start(const Run& run) const override;
  void complete(nlohmann::json& values) const override { temperatures_.complete(values); }

  const std::vector<double>& temperatures() const { return temperatures_.list(); }
  const LangevinOptions& langevin() const { return langevin_; }

 private:
  LangevinOptions langevin_;
  Temperatures temperatures_{{}, 2700};
  double start_sigma_ = 1;
};

// The options that all samplers have which start at 0.5 + start_sigma n: for the classes of this folder.
void declare_start(OptionSet& options, double& start_sigma);
std::optional<Tensor> start_of(const Run& run, double start_sigma);
void declare_jump(OptionSet& options, bool& jump);
// Calls `draw` with the run's own start, or the sampler's where the run has none.
Samples draw_from(const Sampler& sampler, Run run, const std::function<Samples(const Run&)>& draw);

}  // namespace mdsm::sample
