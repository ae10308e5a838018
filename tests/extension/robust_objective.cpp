// An objective of one's own: denoising that leaves out the images whose loss is more than --robust-cap times
// the usual one. The usual one is a moving average, which is the objective's own state.
#include <cmath>

#include "train/objectives.h"

namespace {

using namespace mdsm;

class Robust : public train::Objective {
 public:
  void declare(OptionSet& options) override {
    options.add("robust-cap", cap_, "images count up to so many times the usual loss").above(0);
  }

  void begin(const train::TrainingContext& run) override {
    levels_ = train::noise_levels({.sigma_min = 0.1, .sigma_max = 1}, run.options.batch);
    noisy_ = Tensor(run.engine.images(run.options.batch));
  }

  void gradient(const train::TrainingContext& run, int64_t step, ConstTensorView clean, bool,
                train::StepResult& result) override {
    train::add_training_noise(clean, levels_, static_cast<uint64_t>(run.options.seed), step, noisy_);
    const size_t n = levels_.size();
    std::vector<float> energy(n), residual(n), weight(n);
    Tensor grad_x(noisy_.shape());
    run.engine.energy_and_gradient(noisy_, energy, grad_x);
    const double variance = run.engine.sigma0() * run.engine.sigma0();
    double mean = 0, capped = 0;
    for (size_t i = 0; i < n; ++i) {
      double squares = 0;
      const auto at = static_cast<int64_t>(i);
      const std::span<const float> x = clean.image(at), x_noisy = noisy_.view().image(at),
                                   g = grad_x.view().image(at);
      for (size_t k = 0; k < x.size(); ++k) squares += std::pow(x[k] - x_noisy[k] + variance * g[k], 2);
      const double loss = squares / std::pow(levels_[i], 2);
      const bool counts = usual_ == 0 || loss <= cap_ * usual_;
      weight[i] = counts ? static_cast<float>(1 / (std::pow(levels_[i], 2) * static_cast<double>(n))) : 0;
      mean += loss / static_cast<double>(n);
      capped += (counts ? 0 : 1) / static_cast<double>(n);
    }
    run.engine.objective_gradient(clean, noisy_, weight, residual, energy);
    next_usual_ = usual_ == 0 ? mean : 0.9 * usual_ + 0.1 * mean;
    result.loss = mean;
    result.own = {{.name = "robust_capped", .tag = "robust/capped", .values = {capped}, .mean = true}};
  }
  void applied() override { usual_ = next_usual_; }

  void save(train::StateWriter& state) const override { state.values["usual"] = usual_; }
  void load(train::StateReader& state, const network::Spec&) override {
    usual_ = state.values.at("usual").get<double>();
  }

 private:
  double cap_ = 10, usual_ = 0, next_usual_ = 0;
  std::vector<float> levels_;
  Tensor noisy_;
};

}  // namespace

void add_robust_objective() {
  train::objectives().add(
      {"robust", "denoising without the worst images", [] { return std::make_unique<Robust>(); }});
}
