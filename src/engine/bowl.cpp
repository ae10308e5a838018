#include "engine/bowl.h"

#include "engine/gradient_progress.h"

namespace mdsm::engine {
namespace {

class BowlEnergy : public TrainableEnergy, public GradientProgress {
 public:
  explicit BowlEnergy(std::unique_ptr<TrainableEnergy> network)
      : TrainableEnergy(network->spec()), network_(std::move(network)), bowl_(spec().bowl) {}

  std::string name() const override { return network_->name(); }
  // Where the network's engine can: the bowl has no parameters.
  void tell_progress(Told told) override {
    if (auto* engine = dynamic_cast<GradientProgress*>(network_.get()))
      engine->tell_progress(std::move(told));
  }

 private:
  void add_bowl(ConstTensorView x, std::span<float> energy) const {
    const double scale = bowl_ / (2 * sigma0() * sigma0());
    for (int64_t i = 0; i < x.shape.n; ++i) {
      double squares = 0;
      for (const float value : x.image(i)) squares += static_cast<double>(value) * static_cast<double>(value);
      energy[static_cast<size_t>(i)] += static_cast<float>(scale * squares);
    }
  }

  void energy_impl(ConstTensorView x, std::span<float> energy) override {
    network_->energy(x, energy);
    add_bowl(x, energy);
  }

  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    network_->energy_and_gradient(x, energy, grad_x);
    add_bowl(x, energy);
    const auto slope = static_cast<float>(bowl_ / (sigma0() * sigma0()));
    const std::span<const float> from = x.values();
    const std::span<float> to = grad_x.values();
    for (size_t k = 0; k < to.size(); ++k) to[k] += slope * from[k];
  }

  // x - noisy + sigma0² (grad_x of the network + bowl noisy / sigma0²) = (x + bowl noisy) - noisy + ...
  void objective_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                               std::span<float> residual, std::span<float> energy) override {
    if (target_.shape() != x.shape) target_ = Tensor(x.shape);
    const std::span<const float> clean = x.values(), shifted = noisy.values();
    const std::span<float> target = target_.values();
    for (size_t k = 0; k < target.size(); ++k) target[k] = clean[k] + static_cast<float>(bowl_) * shifted[k];
    network_->objective_gradient(target_, noisy, weight, residual, energy);
    add_bowl(noisy, energy);
  }

  void denoiser_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                              std::span<float> residual, std::span<float> energy) override {
    network_->denoiser_gradient(x, noisy, weight, residual, energy);
  }

  void energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                            std::span<float> energy) override {
    network_->energy_gradient(x, weight, energy);
    add_bowl(x, energy);
  }

  void set_window_impl(const Window& window) override { network_->set_window(window); }
  void zero_gradient_impl() override { network_->zero_gradient(); }
  double gradient_norm_impl() override { return network_->gradient_norm(); }
  void optimiser_step_impl(const OptimiserStep& step) override { network_->optimiser_step(step); }
  void read_impl(StateVector which, std::span<float> out) const override { network_->read(which, out); }
  void write_impl(StateVector which, std::span<const float> values) override {
    network_->write(which, values);
  }

  std::unique_ptr<TrainableEnergy> network_;
  double bowl_;
  Tensor target_;  // x + bowl * noisy
};

}  // namespace

std::unique_ptr<TrainableEnergy> with_bowl(std::unique_ptr<TrainableEnergy> network) {
  if (network->spec().bowl == 0) return network;
  return std::make_unique<BowlEnergy>(std::move(network));
}

}  // namespace mdsm::engine
