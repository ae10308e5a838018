// langevin: Langevin dynamics at one temperature, with its options.
#include "core/error.h"
#include "sample/annealed_sampler.h"

namespace mdsm::sample {
namespace {

class LangevinSampler : public Sampler {
 public:
  void declare(OptionSet& options) override {
    options.add("eps", langevin_.eps, "step size").range(1e-6, 10);
    options.add("steps", fixed_.steps, "steps of a sample").range(0, 1e7);
    options.add("temperature", fixed_.temperature, "of all steps").range(0, kMaxTemperature);
    options.add("burn-in", fixed_.burn_in, "first steps, left out of R-hat and ESS; -1 = half of them")
        .range(-1, 1e7);
    declare_start(options, start_sigma_);
    declare_jump(options, langevin_.jump);
  }

  void resolve(OptionSet& options, const nlohmann::json&) override {
    check_steps_given(options, fixed_.steps);
    options.set_default("burn-in", std::to_string(fixed_.steps / 2));
    if (fixed_.burn_in >= fixed_.steps)
      fail_usage("leave some for the samples", "--burn-in {}: there are {} steps in all", fixed_.burn_in,
                 fixed_.steps);
  }

  Samples draw(const Run& given) const override {
    return draw_from(*this, given, [&](const Run& run) { return langevin(run, fixed_, langevin_); });
  }
  std::optional<Tensor> start(const Run& run) const override { return start_of(run, start_sigma_); }
  bool fixed_temperature() const override { return true; }

 private:
  LangevinOptions langevin_;
  FixedTemperatureOptions fixed_;
  double start_sigma_ = 1;
};

}  // namespace

std::unique_ptr<Sampler> make_langevin_sampler() { return std::make_unique<LangevinSampler>(); }

}  // namespace mdsm::sample
