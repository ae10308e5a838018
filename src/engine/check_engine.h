// An engine that runs two others on everything, compares what they compute and keeps the worst difference of
// each kind. It answers with the first engine's values; a difference beyond the tolerance is an error naming
// the place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/trainable_energy.h"

namespace mdsm::engine {

struct Difference {
  std::string what;     // "energy", "grad_x", "residual", "gradient", "gradient of rb1.conv_1.conv.weight"
  double relative = 0;  // ‖a - b‖ / ‖b‖ over the whole vector (one parameter, or all)
  double tolerance = 0;
  std::string worst_place;  // index and both values where |a - b| is largest

  bool ok() const { return relative <= tolerance; }  // not a number is not ok
};

struct CheckTolerance {
  double energy = 1e-5, grad_x = 1e-4, residual = 1e-4, gradient = 1e-4;
  double parameter = 1e-3;  // gradient of one parameter; looser, as a small one among large ones rounds worse
  double step = 1e-6;       // weights and optimiser state after a step from the same gradient
};

class CheckEngine : public TrainableEnergy {
 public:
  CheckEngine(std::unique_ptr<TrainableEnergy> tested, std::unique_ptr<TrainableEnergy> reference,
              CheckTolerance tolerance = {});

  std::string name() const override;
  // Worst difference of each kind so far, and for the gradient of each parameter, in order of first
  // appearance.
  const std::vector<Difference>& worst() const { return worst_; }
  // Only collect, never throw (for `mdsm check`, which prints the whole table).
  void set_throwing(bool throwing) { throwing_ = throwing; }

 private:
  void energy_impl(ConstTensorView x, std::span<float> energy) override;
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override;
  void objective_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                               std::span<float> residual, std::span<float> energy) override;
  void energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                            std::span<float> energy) override;
  void denoiser_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                              std::span<float> residual, std::span<float> energy) override;
  void set_window_impl(const Window& window) override;
  void zero_gradient_impl() override;
  double gradient_norm_impl() override;
  void optimiser_step_impl(const OptimiserStep& step) override;
  void read_impl(StateVector which, std::span<float> out) const override;
  void write_impl(StateVector which, std::span<const float> values) override;

  using ObjectiveCall = void (TrainableEnergy::*)(ConstTensorView, ConstTensorView, std::span<const float>,
                                                  std::span<float>, std::span<float>);
  void compare_objective(ObjectiveCall call, ConstTensorView x, ConstTensorView noisy,
                         std::span<const float> weight, std::span<float> residual, std::span<float> energy);
  void compare_energies(std::span<const float> tested, std::span<const float> reference);
  void compare(const std::string& what, std::span<const float> tested, std::span<const float> reference,
               double tolerance, double least_scale = 0);
  void record(const Difference& difference);
  void compare_gradients(std::span<const float> tested, std::span<const float> reference);

  std::unique_ptr<TrainableEnergy> tested_, reference_;
  CheckTolerance tolerance_;
  std::vector<network::ParameterInfo> layout_;
  std::vector<Difference> worst_;
  bool throwing_ = true;
};

}  // namespace mdsm::engine
