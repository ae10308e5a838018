#include "engine/engine.h"

#include "core/error.h"

namespace mdsm {

Engine::Engine(const Spec& spec, BowlAdded bowl)
    : spec_(spec), bowl_(bowl == BowlAdded::here ? spec.bowl : 0) {
  validate(spec);
}

void Engine::check_images(ConstTensorView x, const char* what) const {
  if (x.shape.n < 1 || x.shape != spec_.input(x.shape.n))
    fail("fit the images to the model (--pad, --crop, --resize, --colour)",
         "{} has shape {}, the network takes {}", what, x.shape.text(), spec_.input(x.shape.n).text());
  if (const int64_t at = find_non_finite(x.values()); at >= 0)
    fail("check the data", "{} has a value that is not finite in image {}", what, at / x.shape.per_image());
}

namespace {
void check_count(size_t count, int64_t wanted, const char* what) {
  if (count != static_cast<size_t>(wanted))
    fail("this is a bug in the caller", "{} has {} values instead of {}", what, count, wanted);
}
}  // namespace

void Engine::add_bowl(ConstTensorView x, std::span<float> energy) const {
  if (bowl_ == 0) return;
  const double scale = bowl_ / (2 * spec_.sigma0 * spec_.sigma0);
  for (int64_t i = 0; i < x.shape.n; ++i) {
    double squares = 0;
    for (const float value : x.image(i)) squares += static_cast<double>(value) * static_cast<double>(value);
    energy[static_cast<size_t>(i)] += static_cast<float>(scale * squares);
  }
}

void Engine::energy(ConstTensorView x, std::span<float> energy) {
  check_images(x, "x");
  check_count(energy.size(), x.shape.n, "energy");
  energy_impl(x, energy);
  add_bowl(x, energy);
}

void Engine::energy_and_gradient(ConstTensorView x, std::span<float> energy, TensorView grad_x) {
  check_images(x, "x");
  check_count(energy.size(), x.shape.n, "energy");
  check_count(grad_x.values().size(), x.shape.count(), "grad_x");
  energy_and_gradient_impl(x, energy, grad_x);
  add_bowl(x, energy);
  if (bowl_ == 0) return;
  const auto slope = static_cast<float>(bowl_ / (spec_.sigma0 * spec_.sigma0));
  const std::span<const float> from = x.values();
  const std::span<float> to = grad_x.values();
  for (size_t k = 0; k < to.size(); ++k) to[k] += slope * from[k];
}

void Engine::objective_gradient(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                                std::span<float> residual, std::span<float> energy) {
  check_images(x, "x");
  check_images(noisy, "noisy");
  check_count(noisy.values().size(), x.shape.count(), "noisy");
  check_count(weight.size(), x.shape.n, "weight");
  check_count(residual.size(), x.shape.n, "residual");
  check_count(energy.size(), x.shape.n, "energy");
  if (find_non_finite(weight) >= 0) fail("check the noise levels", "a weight of the objective is not finite");
  if (bowl_ == 0) return objective_gradient_impl(x, noisy, weight, residual, energy);
  // x - noisy + sigma0² (grad_x of the network + bowl noisy / sigma0²) = (x + bowl noisy) - noisy + ...
  if (target_.shape() != x.shape) target_ = Tensor(x.shape);
  const std::span<const float> clean = x.values(), shifted = noisy.values();
  const std::span<float> target = target_.values();
  for (size_t k = 0; k < target.size(); ++k) target[k] = clean[k] + static_cast<float>(bowl_) * shifted[k];
  objective_gradient_impl(target_, noisy, weight, residual, energy);
  add_bowl(noisy, energy);
}

void Engine::energy_gradient(ConstTensorView x, std::span<const float> weight, std::span<float> energy) {
  check_images(x, "x");
  check_count(weight.size(), x.shape.n, "weight");
  check_count(energy.size(), x.shape.n, "energy");
  if (find_non_finite(weight) >= 0)
    fail("this is a bug in the caller", "a weight of an energy is not finite");
  energy_gradient_impl(x, weight, energy);
  add_bowl(x, energy);
}

void Engine::read(StateVector which, std::span<float> out) const {
  check_count(out.size(), parameter_count(spec_), "state vector");
  read_impl(which, out);
}

void Engine::write(StateVector which, std::span<const float> values) {
  check_count(values.size(), parameter_count(spec_), "state vector");
  write_impl(which, values);
}

}  // namespace mdsm
