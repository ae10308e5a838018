// The double-precision reference against central differences, which know nothing of its formulas.
#include "engine/reference.h"

#include <gtest/gtest.h>

#include "engine/support.h"

namespace mdsm::test {
namespace {

using Case = std::tuple<network::Network, network::Head>;

class ReferenceTest : public testing::TestWithParam<Case> {
 protected:
  ReferenceTest()
      : spec_(steep_spec()), reference_(spec_, lively_parameters(spec_, 7).values()), batch_(spec_, 2) {}

  // sigma0 = 1 instead of 0.1, so that the part of the objective that depends on the parameters is not hidden
  // below the rounding of the part that does not.
  static network::Spec steep_spec() {
    const auto [network, head] = GetParam();
    network::Spec spec = small_spec(network, head, head == network::Head::quadratic ? 1 : 3);
    spec.sigma0 = 1;
    return spec;
  }

  // Of image 1 with weight 0.3, from its definition.
  double loss() const {
    const Map x = map_of(batch_.x, 1), noisy = map_of(batch_.noisy, 1), g = reference_.grad_x(noisy);
    double squares = 0;
    for (size_t k = 0; k < x.v.size(); ++k) {
      const double r = x.v[k] - noisy.v[k] + spec_.sigma0 * spec_.sigma0 * g.v[k];
      squares += r * r;
    }
    return 0.3 * squares;
  }

  network::Spec spec_;
  Reference reference_;
  Batch batch_;
};

TEST_P(ReferenceTest, InputGradientIsTheSlopeOfTheEnergy) {
  constexpr double kStep = 1e-5;
  Map x = map_of(batch_.noisy, 1);
  const Map g = reference_.grad_x(x);
  RandomStream random(3, Purpose::check);
  Vector found, expected;
  for (int trial = 0; trial < 40; ++trial) {
    const size_t k = random.below(x.v.size());
    const double centre = x.v[k];
    x.v[k] = centre + kStep;
    const double above = reference_.energy(x);
    x.v[k] = centre - kStep;
    const double below = reference_.energy(x);
    x.v[k] = centre;
    found.push_back(g.v[k]);
    expected.push_back((above - below) / (2 * kStep));
  }
  EXPECT_LT(relative_error(found, expected), 1e-7);
}

TEST_P(ReferenceTest, ParameterGradientIsTheSlopeOfTheObjective) {
  constexpr double kStep = 1e-5;
  Vector gradient(reference_.parameters().size(), 0.0);
  reference_.objective(map_of(batch_.x, 1), map_of(batch_.noisy, 1), 0.3, gradient);
  RandomStream random(4, Purpose::check);
  Vector found, expected;
  for (const network::ParameterInfo& info : reference_.layout())  // one value of every parameter
  {
    const size_t k = static_cast<size_t>(info.offset) + random.below(static_cast<uint64_t>(info.count));
    double& value = reference_.parameters()[k];
    const double centre = value;
    value = centre + kStep;
    const double above = loss();
    value = centre - kStep;
    const double below = loss();
    value = centre;
    found.push_back(gradient[k]);
    expected.push_back((above - below) / (2 * kStep));
    EXPECT_NEAR(found.back(), expected.back(), 1e-6 * norm(gradient)) << info.name;
  }
  EXPECT_LT(relative_error(found, expected), 1e-5);
}

TEST_P(ReferenceTest, EnergyGradientIsTheSlopeOfTheEnergy) {
  constexpr double kStep = 1e-5;
  const Map x = map_of(batch_.noisy, 1);
  Vector gradient(reference_.parameters().size(), 0.0);
  EXPECT_EQ(reference_.energy_gradient(x, -0.3, gradient), reference_.energy(x));
  RandomStream random(5, Purpose::check);
  for (const network::ParameterInfo& info : reference_.layout()) {
    const size_t k = static_cast<size_t>(info.offset) + random.below(static_cast<uint64_t>(info.count));
    double& value = reference_.parameters()[k];
    const double centre = value;
    value = centre + kStep;
    const double above = reference_.energy(x);
    value = centre - kStep;
    const double below = reference_.energy(x);
    value = centre;
    EXPECT_NEAR(gradient[k], -0.3 * (above - below) / (2 * kStep), 1e-8 * norm(gradient)) << info.name;
  }
}

TEST_P(ReferenceTest, TangentAlongVEqualsItsProductWithTheGradient) {
  Vector gradient(reference_.parameters().size(), 0.0);
  const Objective result = reference_.objective(map_of(batch_.x, 0), map_of(batch_.noisy, 0), 0.3, gradient);
  EXPECT_NE(result.v_dot_g, 0);
  EXPECT_NEAR(result.energy_dot, result.v_dot_g, 1e-12 * std::abs(result.v_dot_g));
}

INSTANTIATE_TEST_SUITE_P(Networks, ReferenceTest,
                         testing::Combine(testing::Values(network::Network::res6, network::Network::res12,
                                                          network::Network::res18, network::Network::res34),
                                          testing::Values(network::Head::quadratic, network::Head::linear)),
                         [](const auto& made) {
                           return std::string(to_string(std::get<0>(made.param))) + "_" +
                                  to_string(std::get<1>(made.param));
                         });
INSTANTIATE_TEST_SUITE_P(Unet, ReferenceTest,
                         testing::Combine(testing::Values(network::Network::unet),
                                          testing::Values(network::Head::squared_residual,
                                                          network::Head::inner_product,
                                                          network::Head::predicted_noise)),
                         [](const auto& made) {
                           return std::get<1>(made.param) == network::Head::inner_product ? "inner_product"
                                  : std::get<1>(made.param) == network::Head::predicted_noise
                                      ? "predicted_noise"
                                      : "squared_residual";
                         });

}  // namespace
}  // namespace mdsm::test
