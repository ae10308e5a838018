#include "engine/engine.h"

#include "core/error.h"

namespace mdsm {

Engine::Engine(const Spec& spec) : spec_(spec) { validate(spec); }

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

void Engine::energy(ConstTensorView x, std::span<float> energy) {
  check_images(x, "x");
  check_count(energy.size(), x.shape.n, "energy");
  energy_impl(x, energy);
}

void Engine::energy_and_gradient(ConstTensorView x, std::span<float> energy, TensorView grad_x) {
  check_images(x, "x");
  check_count(energy.size(), x.shape.n, "energy");
  check_count(grad_x.values().size(), x.shape.count(), "grad_x");
  energy_and_gradient_impl(x, energy, grad_x);
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
  objective_gradient_impl(x, noisy, weight, residual, energy);
}

void Engine::energy_gradient(ConstTensorView x, std::span<const float> weight, std::span<float> energy) {
  check_images(x, "x");
  check_count(weight.size(), x.shape.n, "weight");
  check_count(energy.size(), x.shape.n, "energy");
  if (find_non_finite(weight) >= 0)
    fail("this is a bug in the caller", "a weight of an energy is not finite");
  energy_gradient_impl(x, weight, energy);
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
