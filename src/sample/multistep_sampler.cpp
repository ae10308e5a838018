// multistep with its options.
#include "sample/multistep.h"

#include "sample/descent_sampler.h"

namespace mdsm::sample {
namespace {

class MultistepSampler : public DescentSampler<MultistepOptions> {
 public:
  Samples draw(const Run& run) const override { return multistep(run, options_); }

 protected:
  std::string what_steps_are() const override { return "steps down the noise levels, after the hot ones"; }
  void declare_own(OptionSet& options) override {
    options
        .add(
            "churn", options_.churn,
            "noise taken out and put back: 0 none (deterministic), 1 as much as the noising process reversed")
        .range(0, 100);
  }
};

}  // namespace

std::unique_ptr<Sampler> make_multistep_sampler() { return std::make_unique<MultistepSampler>(); }

}  // namespace mdsm::sample
