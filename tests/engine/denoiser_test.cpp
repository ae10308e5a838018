// The network as a plain denoiser: no energy, a score that is no gradient, and training by one backward pass.
#include <gtest/gtest.h>

#include "core/error.h"
#include "engine/registry/registry.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

using engine::EngineKind;

class Denoiser : public testing::TestWithParam<std::tuple<EngineKind, network::Head>> {
 protected:
  static constexpr int64_t kImages = 3;

  Denoiser()
      : parameters_(lively_parameters(spec_, 5)),
        engine_(engine::make_engine({std::get<0>(GetParam())}, parameters_)),
        reference_(spec_, parameters_.values()),
        batch_(spec_, kImages) {}

  network::Spec spec_ = small_spec(network::Network::unet, std::get<1>(GetParam()), 3, 12);
  network::Parameters parameters_;
  std::unique_ptr<engine::TrainableEnergy> engine_;
  Reference reference_;
  Batch batch_;
  std::vector<float> energy_ = std::vector<float>(kImages, 1.0f), residual_ = energy_;
};

TEST_P(Denoiser, ScoreAndTrainingGradientAgreeWithTheReference) {
  Tensor grad_x(batch_.noisy.shape());
  engine_->energy_and_gradient(batch_.noisy, energy_, grad_x);
  EXPECT_EQ(energy_, std::vector<float>(kImages, 0.0f));
  engine_->zero_gradient();
  engine_->objective_gradient(batch_.x, batch_.noisy, batch_.weight, residual_, energy_);
  std::vector<float> gradient(parameters_.values().size());
  engine_->read(engine::StateVector::gradient, gradient);
  Vector wanted(gradient.size());
  for (int64_t i = 0; i < kImages; ++i) {
    const auto at = static_cast<size_t>(i);
    const Map noisy = map_of(batch_.noisy, i);
    EXPECT_LT(relative_error(grad_x.view().image(i), reference_.grad_x(noisy).v), 1e-4);
    const double residual =
        reference_.objective(map_of(batch_.x, i), noisy, static_cast<double>(batch_.weight[at]), wanted)
            .residual;
    EXPECT_NEAR(residual_[at], residual, 1e-4 * residual);
  }
  EXPECT_LT(relative_error(gradient, wanted), 1e-4);
}

// An energy on the same network trains that denoiser too, between steps of its own.
TEST_P(Denoiser, AnEnergyTrainsItsNetworkAsADenoiser) {
  engine_->objective_gradient(batch_.x, batch_.noisy, batch_.weight, residual_, energy_);
  std::vector<float> wanted(parameters_.values().size()), gradient = wanted, residual(kImages),
                                                          energies(kImages);
  engine_->read(engine::StateVector::gradient, wanted);
  network::Spec spec = spec_;
  const std::vector<network::Head> heads =
      network::is_noise(spec_.head)
          ? std::vector{network::Head::predicted_noise}
          : std::vector{network::Head::squared_residual, network::Head::inner_product};
  for (const network::Head head : heads) {
    spec.head = head;
    network::Parameters same(spec);
    std::ranges::copy(parameters_.values(), same.values().begin());
    const auto energy = engine::make_engine({std::get<0>(GetParam())}, same);
    const auto energies_gradient = [&] {
      std::vector<float> values(gradient.size()), unused(kImages);
      energy->zero_gradient();
      energy->objective_gradient(batch_.x, batch_.noisy, batch_.weight, unused, energy_);
      energy->read(engine::StateVector::gradient, values);
      return values;
    };
    const std::vector<float> before = energies_gradient();
    energy->zero_gradient();
    energy->denoiser_gradient(batch_.x, batch_.noisy, batch_.weight, residual, energies);
    energy->read(engine::StateVector::gradient, gradient);
    EXPECT_LT(relative_error(gradient, wanted), 1e-6);
    EXPECT_LT(relative_error(residual, residual_), 1e-6);
    EXPECT_EQ(energies_gradient(), before);
    EXPECT_LT(relative_error(energies, energy_), 1e-6);
    EXPECT_GT(relative_error(gradient, before), 0.1);
  }
}

// x~ - F instead of 1/2 + F: a denoiser whose network is the noise has targets of its own.
TEST_P(Denoiser, PredictedNoiseIsTakenFromTheImage) {
  Tensor target(batch_.x.shape());
  for (size_t k = 0; k < target.values().size(); ++k)
    target.values()[k] = network::is_noise(spec_.head)
                             ? batch_.x.values()[k]
                             : 0.5f + batch_.noisy.values()[k] - batch_.x.values()[k];
  engine_->objective_gradient(target, batch_.noisy, batch_.weight, residual_, energy_);
  std::vector<float> wanted(parameters_.values().size()), gradient = wanted, residual(kImages);
  engine_->read(engine::StateVector::gradient, wanted);
  network::Spec spec = spec_;
  for (const network::Head head : {network::Head::predicted_noise, network::Head::residual_denoiser}) {
    spec.head = head;
    network::Parameters same(spec);
    std::ranges::copy(parameters_.values(), same.values().begin());
    const auto noise = engine::make_engine({std::get<0>(GetParam())}, same);
    noise->denoiser_gradient(batch_.x, batch_.noisy, batch_.weight, residual, energy_);
    noise->read(engine::StateVector::gradient, gradient);
    EXPECT_LT(relative_error(gradient, wanted), 1e-5);
    EXPECT_LT(relative_error(residual, residual_), 1e-5);
  }
}

TEST_P(Denoiser, OnlyNetworksFromImagesToImagesCanBeOne) {
  const network::Spec spec = small_spec(network::Network::res6, network::Head::quadratic, 1, 16);
  const auto energy = engine::make_engine({std::get<0>(GetParam())}, lively_parameters(spec, 5));
  const Batch batch(spec, kImages);
  EXPECT_THROW(energy->denoiser_gradient(batch.x, batch.noisy, batch.weight, residual_, energy_), Error);
}

// The reference itself, by differences.
TEST_P(Denoiser, TrainingGradientIsTheSlopeOfTheObjective) {
  const Map x = map_of(batch_.x, 0), noisy = map_of(batch_.noisy, 0);
  Vector gradient(reference_.parameters().size()), unused = gradient;
  reference_.objective(x, noisy, 0.3, gradient);
  constexpr double kStep = 1e-5;
  for (const network::ParameterInfo& info : reference_.layout()) {
    double& value = reference_.parameters()[static_cast<size_t>(info.offset + info.count / 2)];
    const double centre = value, found = gradient[static_cast<size_t>(info.offset + info.count / 2)];
    const auto loss = [&](double at) {
      value = at;
      return 0.3 * reference_.objective(x, noisy, 0.3, unused).residual;
    };
    EXPECT_NEAR(found, (loss(centre + kStep) - loss(centre - kStep)) / (2 * kStep), 1e-6 * norm(gradient))
        << info.name;
    value = centre;
  }
}

TEST_P(Denoiser, WhatNeedsAnEnergySaysSo) {
  EXPECT_FALSE(engine_->has_energy());
  try {
    engine_->energy_gradient(batch_.x, batch_.weight, energy_);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "maximum likelihood needs an energy, and this model is a denoiser without one");
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Denoiser,
                         testing::Combine(testing::ValuesIn(engine::available_engines()),
                                          testing::Values(network::Head::denoiser,
                                                          network::Head::residual_denoiser)),
                         [](const auto& made) {
                           return fmt::format("{}_{}", to_string(std::get<0>(made.param)),
                                              network::is_noise(std::get<1>(made.param)) ? "noise" : "image");
                         });

}  // namespace
}  // namespace mdsm::test
