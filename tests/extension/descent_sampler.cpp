// A sampler of one's own: plain gradient descent, x <- x - rate sigma0² grad_x, which ends in a valley of the
// energy.
#include "sample/registry.h"

namespace {

using namespace mdsm;

class Descent : public sample::Sampler {
 public:
  void declare(OptionSet& options) override {
    options.add("steps", steps_, "steps of a sample").range(1, 1e6);
    options.add("descent-rate", rate_, "share of the denoising residual removed in each step").range(0, 1);
  }
  void resolve(OptionSet&, const nlohmann::json&) override {}

  sample::Samples draw(const sample::Run& run) const override {
    const auto n = run.seeds.size();
    sample::Samples samples;
    samples.x = sample::start_images(run.model.image_shape(), run.seeds);
    samples.energy.resize(n);
    samples.sigma.assign(n, 0);
    samples.evaluations.assign(n, steps_);
    samples.steps = steps_;
    Tensor grad_x(samples.x.shape());
    const auto factor = static_cast<float>(rate_ * run.model.sigma0() * run.model.sigma0());
    for (int64_t step = 0; step < steps_; ++step) {
      run.model.energy_and_gradient(samples.x, samples.energy, grad_x);
      for (size_t k = 0; k < grad_x.values().size(); ++k)
        samples.x.values()[k] -= factor * grad_x.values()[k];
    }
    return samples;
  }

 private:
  int64_t steps_ = 20;
  double rate_ = 0.2;
};

}  // namespace

void add_descent_sampler() {
  sample::samplers().add({"descent", "gradient descent", [] { return std::make_unique<Descent>(); }});
}
