// The bowl, E(x) = network(x) + bowl ‖x‖² / (2 sigma0²): against the same weights without it, the formula
// written out here, and central differences.
#include <gtest/gtest.h>

#include "engine/registry/registry.h"
#include "engine/slope_check.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

constexpr double kBowl = 0.75;

network::Parameters parameters(network::Spec spec, double bowl) {
  spec.bowl = bowl;
  return lively_parameters(spec, 3);  // the same weights whatever the bowl
}

class Bowl : public testing::TestWithParam<engine::EngineKind> {
 protected:
  network::Spec spec_ = small_spec(network::Network::res6, network::Head::quadratic, 3);
  std::unique_ptr<engine::TrainableEnergy> flat_ = engine::make_engine({GetParam()}, parameters(spec_, 0));
  std::unique_ptr<engine::TrainableEnergy> bowl_ =
      engine::make_engine({GetParam()}, parameters(spec_, kBowl));
  Batch batch_{spec_, 5};
  double variance_ = spec_.sigma0 * spec_.sigma0;
};

TEST_P(Bowl, EnergyAndGradientHaveItOnTop) {
  std::vector<float> flat(5), energy(5), alone(5);
  Tensor flat_gradient(batch_.noisy.shape()), gradient(batch_.noisy.shape());
  flat_->energy_and_gradient(batch_.noisy, flat, flat_gradient);
  bowl_->energy_and_gradient(batch_.noisy, energy, gradient);
  bowl_->energy(batch_.noisy, alone);
  for (int64_t i = 0; i < 5; ++i) {
    const auto at = static_cast<size_t>(i);
    const double squares = std::pow(norm(batch_.noisy.view().image(i)), 2);
    EXPECT_NEAR(energy[at], flat[at] + kBowl * squares / (2 * variance_), 1e-5 * std::abs(energy[at]));
    EXPECT_NEAR(alone[at], energy[at], 1e-5 * std::abs(energy[at]));
  }
  std::vector<double> expected;
  for (size_t k = 0; k < gradient.values().size(); ++k)
    expected.push_back(flat_gradient.values()[k] + kBowl * batch_.noisy.values()[k] / variance_);
  EXPECT_LT(relative_error(gradient.values(), expected), 1e-6);
}

TEST_P(Bowl, TheResidualIsThatOfTheWholeEnergy) {
  std::vector<float> residual(5), energy(5), expected_energy(5);
  Tensor gradient(batch_.noisy.shape());
  bowl_->energy_and_gradient(batch_.noisy, expected_energy, gradient);
  bowl_->objective_gradient(batch_.x, batch_.noisy, batch_.weight, residual, energy);
  EXPECT_LT(relative_error(energy, expected_energy), 1e-6);
  const auto per_image = static_cast<size_t>(spec_.input(1).count());
  for (size_t i = 0; i < 5; ++i) {
    double squares = 0;
    for (size_t k = i * per_image; k < (i + 1) * per_image; ++k)
      squares += std::pow(static_cast<double>(batch_.x.values()[k]) - batch_.noisy.values()[k] +
                              variance_ * gradient.values()[k],
                          2);
    EXPECT_NEAR(residual[i], squares, 1e-4 * squares);
  }
}

TEST_P(Bowl, GradientsAreSlopes) {
  const engine::Difference input = engine::input_slope(*bowl_, batch_.noisy, 1e-2);
  EXPECT_TRUE(input.ok()) << input.relative << " " << input.worst_place;
  const engine::Difference objective =
      engine::objective_slope(*bowl_, batch_.x, batch_.noisy, batch_.weight, 1e-2);
  EXPECT_TRUE(objective.ok()) << objective.relative << " " << objective.worst_place;
}

INSTANTIATE_TEST_SUITE_P(Engines, Bowl, testing::ValuesIn(engine::available_engines()),
                         [](const auto& made) { return std::string(to_string(made.param)); });

}  // namespace
}  // namespace mdsm::test
