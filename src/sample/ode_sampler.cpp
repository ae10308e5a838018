// ode: integration down the noise levels, with its options.
#include "sample/descent_sampler.h"

namespace mdsm::sample {
namespace {

class OdeSampler : public DescentSampler<OdeOptions> {
 public:
  Samples draw(const Run& run) const override { return ode(run, options_); }

 protected:
  std::string what_steps_are() const override { return "intervals between the noise levels"; }
  void declare_own(OptionSet& options) override {
    options.add("integrator", options_.method, "steps of first or second order").formerly("method");
    options.add("rho", options_.rho, "1 spaces the levels evenly, more puts them near the last")
        .range(1, 100);
  }
};

}  // namespace

std::unique_ptr<Sampler> make_ode_sampler() { return std::make_unique<OdeSampler>(); }

}  // namespace mdsm::sample
