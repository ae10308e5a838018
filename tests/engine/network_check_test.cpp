// The checks of `mdsm check`: silent on engines that are right, loud on one that is not, without a second
// engine where they claim to need none.
#include "engine/registry/network_check.h"

#include <gtest/gtest.h>

#include "engine/faulty_engine.h"
#include "engine/registry/registry.h"
#include "engine/registry/torch_loader.h"
#include "engine/slope_check.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

class SlopeTest : public testing::TestWithParam<network::Head> {
 protected:
  std::unique_ptr<engine::TrainableEnergy> engine(const Fault& fault) const {
    return std::make_unique<FaultyEngine>(engine::make_engine({}, parameters_), fault);
  }
  engine::Difference input(const Fault& fault) const {
    return engine::input_slope(*engine(fault), batch_.noisy, 1e-2);
  }
  engine::Difference objective(const Fault& fault) const {
    return engine::objective_slope(*engine(fault), batch_.x, batch_.noisy, batch_.weight, 1e-2);
  }

  network::Spec spec_ = small_spec(network::Network::res12, GetParam(), 1, 8);
  network::Parameters parameters_ = lively_parameters(spec_, 3);
  Batch batch_{spec_, 3};
};

TEST_P(SlopeTest, TrueGradientsPass) {
  EXPECT_LT(input({}).relative, 5e-3) << input({}).worst_place;
  EXPECT_LT(objective({}).relative, 5e-3) << objective({}).worst_place;
}

TEST_P(SlopeTest, WrongGradientsFail) {
  Fault slope;
  slope.grad_x = 10;  // grad_x itself is shorter
  EXPECT_FALSE(input(slope).ok());
  Fault parameter;
  parameter.parameter = "conv1.conv.weight";
  parameter.factor = -100;
  EXPECT_FALSE(objective(parameter).ok());
}

TEST_P(SlopeTest, TheEngineIsLeftAsItWas) {
  const auto tested = engine({});
  std::vector<float> weights(parameters_.values().size()), gradient(weights.size(), 0.25f);
  tested->write(engine::StateVector::gradient, gradient);
  engine::objective_slope(*tested, batch_.x, batch_.noisy, batch_.weight, 1e-2);
  tested->read(engine::StateVector::weights, weights);
  EXPECT_EQ(norm_of_difference(weights, parameters_.values()), 0);
  tested->read(engine::StateVector::gradient, weights);
  EXPECT_EQ(weights, gradient);
}

INSTANTIATE_TEST_SUITE_P(Heads, SlopeTest, testing::Values(network::Head::quadratic, network::Head::linear),
                         [](const auto& made) { return to_string(made.param); });

// The name ends in /torch like all tests that load LibTorch.
class NetworkCheckTest : public testing::TestWithParam<int> {};

TEST_P(NetworkCheckTest, NativeAgreesWithTorch) {
  if (!engine::torch_module_present()) GTEST_SKIP() << "built without LibTorch";
  const network::Spec spec = small_spec(network::Network::res12, network::Head::quadratic, 3, 8);
  const engine::NetworkCheck check = engine::check_network(network::Parameters::initialised(spec, 1), {});
  EXPECT_TRUE(check.ok()) << check.worst().what << " " << check.worst().relative;
  for (const char* what : {"energy", "grad_x", "residual", "gradient", "grad_x against differences of E"})
    EXPECT_GE(check.at(what).relative, 0) << what;
  engine::NetworkCheckOptions strict;
  strict.tolerance.gradient = 1e-12;
  const engine::NetworkCheck failing =
      engine::check_network(network::Parameters::initialised(spec, 1), strict);
  EXPECT_FALSE(failing.ok());
  EXPECT_EQ(failing.worst().what, "gradient");
}

INSTANTIATE_TEST_SUITE_P(Engines, NetworkCheckTest, testing::Values(0),
                         [](const auto&) { return std::string("torch"); });

TEST(CheckMatrix, HoldsEveryNetworkHeadChannelsAndSize) {
  const auto specs = engine::check_matrix();
  EXPECT_EQ(specs.size(), 33u);
  for (size_t i = 0; i < specs.size(); ++i) {
    validate(specs[i]);
    for (size_t k = 0; k < i; ++k) EXPECT_FALSE(specs[i] == specs[k]);
  }
  EXPECT_EQ(specs.back().width, 64);
}

}  // namespace
}  // namespace mdsm::test
