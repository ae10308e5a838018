// What the samplers share that go down levels of noise from --sigma-max to --sigma-min, hot steps first: ode
// and multistep. Options has the members steps, hot, sigma_max, sigma_min and jump.
#pragma once

#include "sample/annealed_sampler.h"
#include "sample/fast_sampler.h"

namespace mdsm::sample {

template <class Options>
class DescentSampler : public Sampler {
 public:
  void declare(OptionSet& options) final {
    options.add("steps", options_.steps, what_steps_are()).range(0, 1e7);
    declare_noise_start(options, options_.sigma_max, options_.hot);
    options.add("sigma-min", options_.sigma_min, "last noise level").range(1e-6, 1000);
    declare_own(options);
    declare_jump(options, options_.jump);
  }

  void resolve(OptionSet& options, const nlohmann::json& info) final {
    take_noise_range(options, info, options_.sigma_min);
    check_steps_given(options, options_.steps);
    check_noise_levels(options_.sigma_min, options_.sigma_max);
    resolve_own(options);
  }

 protected:
  virtual std::string what_steps_are() const = 0;  // for the help
  virtual void declare_own(OptionSet& options) = 0;
  virtual void resolve_own(const OptionSet& /*options*/) {}

  Options options_;
};

}  // namespace mdsm::sample
