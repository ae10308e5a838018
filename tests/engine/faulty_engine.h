// A real engine with one known fault put in, for tests of the checks.
#pragma once

#include <string>
#include <vector>

#include "engine/trainable_energy.h"

namespace mdsm::test {

struct Fault {
  std::string parameter;  // its gradient gets one wrong value
  int64_t index = 0;
  double factor = 1;        // of that value
  float energy = 0;         // added to the energy of image 0
  float grad_x = 0;         // added to one value of grad_x
  bool forget_ema = false;  // the moving average stays where it was
};

// The real engine with one fault put in.
class FaultyEngine : public engine::TrainableEnergy {
 public:
  FaultyEngine(std::unique_ptr<engine::TrainableEnergy> real, Fault fault)
      : engine::TrainableEnergy(real->spec()), real_(std::move(real)), fault_(std::move(fault)) {}
  std::string name() const override { return "faulty"; }

 private:
  void energy_impl(ConstTensorView x, std::span<float> energy) override {
    real_->energy(x, energy);
    energy[0] += fault_.energy;
  }
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    real_->energy_and_gradient(x, energy, grad_x);
    grad_x.values()[3] += fault_.grad_x;
  }
  void objective_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                               std::span<float> residual, std::span<float> energy) override {
    real_->objective_gradient(x, noisy, weight, residual, energy);
    spoil_gradient();
  }
  void denoiser_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                              std::span<float> residual, std::span<float> energy) override {
    real_->denoiser_gradient(x, noisy, weight, residual, energy);
    spoil_gradient();
  }
  void energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                            std::span<float> energy) override {
    real_->energy_gradient(x, weight, energy);
    spoil_gradient();
  }
  void set_window_impl(const engine::Window& window) override { real_->set_window(window); }
  void zero_gradient_impl() override { real_->zero_gradient(); }
  double gradient_norm_impl() override { return real_->gradient_norm(); }
  void optimiser_step_impl(const engine::OptimiserStep& step) override {
    const auto ema = state(engine::StateVector::ema);
    real_->optimiser_step(step);
    if (fault_.forget_ema) real_->write(engine::StateVector::ema, ema);
  }
  void read_impl(engine::StateVector which, std::span<float> out) const override { real_->read(which, out); }
  void write_impl(engine::StateVector which, std::span<const float> values) override {
    real_->write(which, values);
  }

  void spoil_gradient() {
    if (fault_.parameter.empty()) return;
    auto gradient = state(engine::StateVector::gradient);
    const network::Parameters names(spec());
    float& value = gradient[static_cast<size_t>(names.info(fault_.parameter).offset + fault_.index)];
    value = static_cast<float>(static_cast<double>(value) * fault_.factor);
    real_->write(engine::StateVector::gradient, gradient);
  }

  std::vector<float> state(engine::StateVector which) const {
    std::vector<float> values(static_cast<size_t>(network::parameter_count(spec())));
    real_->read(which, values);
    return values;
  }

  std::unique_ptr<engine::TrainableEnergy> real_;
  Fault fault_;
};

}  // namespace mdsm::test
