#include "engine/energy_model.h"

#include "core/error.h"

namespace mdsm {

void EnergyModel::check_images(ConstTensorView x, const char* what) const {
  if (x.shape.n < 1 || !takes(x.shape.with_n(1)))
    fail("fit the images to the model (--pad, --crop, --resize, --colour)",
         "{} has shape {}, the network takes {}", what, x.shape.text(), images(x.shape.n).text());
  if (const int64_t at = find_non_finite(x.values()); at >= 0)
    fail("check the data", "{} has a value that is not finite in image {}", what, at / x.shape.per_image());
}

void EnergyModel::check_count(size_t count, int64_t wanted, const char* what) {
  if (count != static_cast<size_t>(wanted))
    fail("this is a bug in the caller", "{} has {} values instead of {}", what, count, wanted);
}

void EnergyModel::require_energy(const char* who) const {
  if (!has_energy())
    fail("use a model with an energy: --head squared-residual or inner-product",
         "{} needs an energy, and this model is a denoiser without one", who);
}

void EnergyModel::energy(ConstTensorView x, std::span<float> energy) {
  check_images(x, "x");
  check_count(energy.size(), x.shape.n, "energy");
  energy_impl(x, energy);
}

void EnergyModel::energy_and_gradient(ConstTensorView x, std::span<float> energy, TensorView grad_x) {
  check_images(x, "x");
  check_count(energy.size(), x.shape.n, "energy");
  check_count(grad_x.values().size(), x.shape.count(), "grad_x");
  energy_and_gradient_impl(x, energy, grad_x);
}

void EnergyModel::energy_impl(ConstTensorView x, std::span<float> energy) {
  Tensor grad_x(x.shape);
  energy_and_gradient_impl(x, energy, grad_x);
}

}  // namespace mdsm
