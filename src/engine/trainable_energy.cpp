#include "engine/trainable_energy.h"

#include "core/error.h"
#include "network/graph.h"

namespace mdsm::engine {

TrainableEnergy::TrainableEnergy(const network::Spec& spec)
    : EnergyModel(spec.input(1), spec.sigma0), spec_(spec) {
  validate(spec);
}

bool TrainableEnergy::has_energy() const { return network::has_energy(spec_.head); }

void TrainableEnergy::objective_gradient(ConstTensorView x, ConstTensorView noisy,
                                         std::span<const float> weight, std::span<float> residual,
                                         std::span<float> energy) {
  check_images(x, "x");
  check_images(noisy, "noisy");
  check_count(noisy.values().size(), x.shape.count(), "noisy");
  check_count(weight.size(), x.shape.n, "weight");
  check_count(residual.size(), x.shape.n, "residual");
  check_count(energy.size(), x.shape.n, "energy");
  if (find_non_finite(weight) >= 0) fail("check the noise levels", "a weight of the objective is not finite");
  objective_gradient_impl(x, noisy, weight, residual, energy);
}

void TrainableEnergy::energy_gradient(ConstTensorView x, std::span<const float> weight,
                                      std::span<float> energy) {
  check_images(x, "x");
  check_count(weight.size(), x.shape.n, "weight");
  check_count(energy.size(), x.shape.n, "energy");
  if (find_non_finite(weight) >= 0)
    fail("this is a bug in the caller", "a weight of an energy is not finite");
  require_energy("maximum likelihood");
  energy_gradient_impl(x, weight, energy);
}

void TrainableEnergy::read(StateVector which, std::span<float> out) const {
  check_count(out.size(), parameter_count(spec_), "state vector");
  read_impl(which, out);
}

void TrainableEnergy::write(StateVector which, std::span<const float> values) {
  check_count(values.size(), parameter_count(spec_), "state vector");
  write_impl(which, values);
}

}  // namespace mdsm::engine
