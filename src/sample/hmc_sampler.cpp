// mala and hmc: samplers with a Metropolis test, with their options.
#include "core/error.h"
#include "sample/annealed_sampler.h"
#include "sample/hmc.h"

namespace mdsm::sample {
namespace {

class HmcSampler : public Sampler {
 public:
  HmcSampler(const HmcOptions& hmc, const TemperatureOptions& phases, int64_t constant_steps, bool leapfrogs)
      : hmc_(hmc), temperatures_(phases, constant_steps), leapfrogs_(leapfrogs) {}

  void declare(OptionSet& options) override {
    options.add("eps", hmc_.eps, "first step size, adapted from then on").range(1e-6, 10);
    temperatures_.declare(options);
    options
        .add(
            "burn-in", hmc_.burn_in,
            "first steps, which adapt eps and are left out of R-hat and ESS; -1 = half of them, all when the "
            "temperature changes")
        .range(-1, 1e7);
    options.add("accept", hmc_.target, "share of proposals to be accepted, which eps is adapted to")
        .range(0.01, 0.99);
    if (leapfrogs_) options.add("leapfrog", hmc_.leapfrog, "leapfrog steps a proposal").range(1, 10000);
    declare_start(options, start_sigma_);
    declare_jump(options, hmc_.jump);
  }

  void resolve(OptionSet& options, const nlohmann::json&) override {
    temperatures_.resolve(options);
    const int64_t total = temperatures_.steps();
    // Where the temperature falls, eps follows it all the way.
    options.set_default("burn-in", std::to_string(fixed_temperature() ? total / 2 : total));
    if (fixed_temperature() && hmc_.burn_in >= total)
      fail_usage("leave some for the samples", "--burn-in {}: there are {} steps in all", hmc_.burn_in,
                 total);
  }

  Samples draw(const Run& given) const override {
    return draw_from(*this, given, [&](const Run& run) { return hmc(run, temperatures_.list(), hmc_); });
  }
  std::optional<Tensor> start(const Run& run) const override { return start_of(run, start_sigma_); }
  bool fixed_temperature() const override { return temperatures_.constant(); }
  void complete(nlohmann::json& values) const override { temperatures_.complete(values); }

 private:
  HmcOptions hmc_;
  Temperatures temperatures_;
  bool leapfrogs_;
  double start_sigma_ = 1;
};

}  // namespace

std::unique_ptr<Sampler> make_mala_sampler() {
  return std::make_unique<HmcSampler>(mala_options(), TemperatureOptions{}, 1000, false);
}

std::unique_ptr<Sampler> make_hmc_sampler() {  // about as many gradients as the others
  return std::make_unique<HmcSampler>(HmcOptions{},
                                      TemperatureOptions{.hot = 50, .cooling = 200, .final = 20}, 100, true);
}

}  // namespace mdsm::sample
