#include "engine/trainable_energy.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace mdsm::engine {

bool is_decaying(const network::ParameterInfo& info) { return info.shape.size() > 1; }

bool is_muon_matrix(const network::ParameterInfo& info) {
  return info.shape.size() == 4 && std::min(info.shape[0], info.shape[1]) >= 4;
}

double muon_scale(int64_t rows, int64_t columns) {
  return 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns)));
}

TrainableEnergy::TrainableEnergy(const network::Spec& spec)
    : EnergyModel(spec.input(1), spec.sigma0), spec_(spec) {
  validate(spec);
}

void TrainableEnergy::check_pairs(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                                  std::span<const float> residual, std::span<const float> energy) const {
  check_images(x, "x");
  check_images(noisy, "noisy");
  check_count(noisy.values().size(), x.shape.count(), "noisy");
  check_count(weight.size(), x.shape.n, "weight");
  check_count(residual.size(), x.shape.n, "residual");
  check_count(energy.size(), x.shape.n, "energy");
  if (find_non_finite(weight) >= 0) fail("check the noise levels", "a weight of the objective is not finite");
}

void TrainableEnergy::objective_gradient(ConstTensorView x, ConstTensorView noisy,
                                         std::span<const float> weight, std::span<float> residual,
                                         std::span<float> energy) {
  check_pairs(x, noisy, weight, residual, energy);
  objective_gradient_impl(x, noisy, weight, residual, energy);
}

void TrainableEnergy::denoiser_gradient(ConstTensorView x, ConstTensorView noisy,
                                        std::span<const float> weight, std::span<float> residual,
                                        std::span<float> energy) {
  check_pairs(x, noisy, weight, residual, energy);
  if (!network::is_image_head(spec_.head))
    fail("this is a bug in the caller", "{} is no network from images to images", to_string(spec_.network));
  denoiser_gradient_impl(x, noisy, weight, residual, energy);
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

void TrainableEnergy::set_window(const Window& w) {
  const Shape& image = image_shape();
  if (!spec_.any_size())
    fail("this is a bug in the caller", "the energy of {} is no sum over pixels", to_string(spec_.network));
  if (std::min({w.top, w.left, w.height - 1, w.width - 1}) < 0 || w.top + w.height > image.h ||
      w.left + w.width > image.w)
    fail("this is a bug in the caller", "a window of {}x{} pixels at {},{} in an image of {}x{}", w.width,
         w.height, w.left, w.top, image.w, image.h);
  set_window_impl(w);
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
