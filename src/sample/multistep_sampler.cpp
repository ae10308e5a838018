// multistep with its options.
#include "sample/annealed_sampler.h"
#include "sample/fast_sampler.h"
#include "sample/multistep.h"

namespace mdsm::sample {
namespace {

class MultistepSampler : public Sampler {
 public:
  void declare(OptionSet& options) override {
    options.add("steps", options_.steps, "steps down the noise levels, after the hot ones").range(0, 1e7);
    declare_noise_start(options, options_.sigma_max, options_.hot);
    options.add("sigma-min", options_.sigma_min, "last noise level").range(1e-6, 1000);
    options
        .add(
            "churn", options_.churn,
            "noise taken out and put back: 0 none (deterministic), 1 as much as the noising process reversed")
        .range(0, 100);
    declare_jump(options, options_.jump);
  }

  void resolve(OptionSet& options, const nlohmann::json& info) override {
    take_noise_range(options, info, options_.sigma_min);
    check_steps_given(options, options_.steps);
    check_noise_levels(options_.sigma_min, options_.sigma_max);
  }

  Samples draw(const Run& run) const override { return multistep(run, options_); }

 private:
  MultistepOptions options_;
};

}  // namespace

std::unique_ptr<Sampler> make_multistep_sampler() { return std::make_unique<MultistepSampler>(); }

}  // namespace mdsm::sample
