// The path between a Gaussian whose normaliser is known and a model whose normaliser is not:
// E_beta = (1 - beta) E_ref + beta E. The bridge is an energy like any other, so the samplers move along it.
#pragma once

#include <vector>

#include "core/enum_names.h"
#include "data/dataset.h"
#include "engine/energy_model.h"

namespace mdsm::eval {

// An isotropic Gaussian over images, normalised: exp(-energy) integrates to 1.
struct GaussianReference {
  std::vector<float> mean;  // (C,H,W)
  double std = 1;

  double energy(std::span<const float> x) const;
  void sample(uint64_t seed, std::span<float> out) const;
};

enum class ReferenceMean { constant, data_mean };
constexpr auto enum_names(ReferenceMean) {
  return names_of<ReferenceMean>(
      {{ReferenceMean::constant, "constant"}, {ReferenceMean::data_mean, "data-mean"}});
}

// A constant mean; std 0 takes the root mean square deviation of the images from it.
GaussianReference constant_reference(const data::Dataset& images, double value, double std = 0);
// The mean image.
GaussianReference mean_reference(const data::Dataset& images, double std = 0);

class Bridge : public engine::EnergyModel {
 public:
  Bridge(engine::EnergyModel& target, const GaussianReference& reference);

  void set_beta(double beta) { beta_ = beta; }
  double beta() const { return beta_; }
  const GaussianReference& reference() const { return reference_; }

  // Energy and gradient of the model alone at the last point evaluated, (N) and (N,C,H,W).
  std::span<const float> target_energy() const { return target_energy_; }
  ConstTensorView target_gradient() const { return target_gradient_; }
  void evaluate_target(ConstTensorView x);
  // E_beta and its gradient at one image from those of the model.
  float mix(std::span<const float> x, float target_energy, std::span<const float> target_gradient,
            std::span<float> grad_x) const;

 private:
  void energy_impl(ConstTensorView x, std::span<float> energy) override;
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override;

  engine::EnergyModel& target_;
  GaussianReference reference_;
  double beta_ = 0;
  std::vector<float> target_energy_;
  Tensor target_gradient_;
};

}  // namespace mdsm::eval
