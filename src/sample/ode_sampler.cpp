// ode: integration down the noise levels, with its options.
#include "sample/annealed_sampler.h"
#include "sample/fast_sampler.h"

namespace mdsm::sample {
namespace {

class OdeSampler : public Sampler {
 public:
  void declare(OptionSet& options) override {
    options.add("steps", options_.steps, "intervals between the noise levels").range(0, 1e7);
    declare_noise_start(options, options_.sigma_max, options_.hot);
    options.add("method", options_.method, "integration");
    options.add("sigma-min", options_.sigma_min, "last noise level").range(1e-6, 1000);
    options.add("rho", options_.rho, "1 spaces the levels evenly, more puts them near the last")
        .range(1, 100);
    declare_jump(options, options_.jump);
  }

  void resolve(OptionSet& options, const nlohmann::json& info) override {
    take_noise_range(options, info, options_.sigma_min);
    check_steps_given(options, options_.steps);
    check_noise_levels(options_.sigma_min, options_.sigma_max);
  }

  Samples draw(const Run& run) const override { return ode(run, options_); }

 private:
  OdeOptions options_;
};

}  // namespace

std::unique_ptr<Sampler> make_ode_sampler() { return std::make_unique<OdeSampler>(); }

}  // namespace mdsm::sample
