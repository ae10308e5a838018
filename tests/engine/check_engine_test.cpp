// CheckEngine over an engine that is wrong in one known place must name that place and no other.
#include "engine/check_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "engine/faulty_engine.h"
#include "engine/registry/registry.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

class CheckEngineTest : public testing::Test {
 protected:
  engine::CheckEngine make(const Fault& fault) const {
    const auto real = [&] { return engine::make_engine({}, parameters_); };
    return {std::make_unique<FaultyEngine>(real(), fault), real()};
  }
  void run(engine::TrainableEnergy& engine) {
    engine.energy(batch_.noisy, energy_);
    engine.energy_and_gradient(batch_.noisy, energy_, grad_x_);
    engine.objective_gradient(batch_.x, batch_.noisy, batch_.weight, residual_, energy_);
    engine.gradient_norm();
    engine.optimiser_step({});
  }
  // Names of all kinds beyond their tolerance.
  std::set<std::string> wrong(const Fault& fault) {
    engine::CheckEngine engine = make(fault);
    engine.set_throwing(false);
    run(engine);
    std::set<std::string> names;
    for (const engine::Difference& d : engine.worst())
      if (!d.ok()) names.insert(d.what);
    return names;
  }
  std::string message(const Fault& fault) {
    engine::CheckEngine engine = make(fault);
    try {
      run(engine);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  network::Spec spec_ = small_spec();
  network::Parameters parameters_ = lively_parameters(spec_, 2);
  Batch batch_{spec_, 2};
  std::vector<float> energy_ = std::vector<float>(2), residual_ = std::vector<float>(2);
  Tensor grad_x_{spec_.input(2)};
};

using Names = std::set<std::string>;

TEST_F(CheckEngineTest, AgreementIsSilent) {
  EXPECT_EQ(wrong({}), Names{});
  EXPECT_EQ(message({}), "no error");
  engine::CheckEngine engine = make({});
  run(engine);
  Names seen;
  for (const engine::Difference& d : engine.worst()) EXPECT_TRUE(seen.insert(d.what).second) << d.what;
  for (const char* kind : {"energy", "grad_x", "residual", "gradient", "weights after a step"})
    EXPECT_TRUE(seen.contains(kind)) << kind;
  for (const network::ParameterInfo& info : parameters_.layout())
    EXPECT_TRUE(seen.contains("gradient of " + info.name)) << info.name;
}

TEST_F(CheckEngineTest, AWrongEnergyGradientIsFound) {
  const std::vector<float> weight{1.0f, -0.5f};
  engine::CheckEngine right = make({}), wrong = make({.parameter = "lq.bias", .factor = 1.5});
  EXPECT_NO_THROW(right.energy_gradient(batch_.noisy, weight, energy_));
  // What cancels leaves rounding behind, which is no difference.
  EXPECT_NO_THROW(right.energy_gradient(batch_.noisy, std::vector<float>{-1.0f, 0.5f}, energy_));
  wrong.set_throwing(false);
  wrong.energy_gradient(batch_.noisy, weight, energy_);
  Names names;
  for (const engine::Difference& d : wrong.worst())
    if (!d.ok()) names.insert(d.what);
  EXPECT_TRUE(names.contains("gradient of lq.bias"));
}

TEST_F(CheckEngineTest, OneWrongValueOfOneGradientIsFound) {
  // The largest value of each parameter's gradient, as the smallest ones are below what float32 can tell.
  engine::CheckEngine engine = make({});
  run(engine);
  std::vector<float> gradient(parameters_.values().size());
  engine.read(engine::StateVector::gradient, gradient);
  for (const network::ParameterInfo& info : parameters_.layout()) {
    const auto values = part(std::span(gradient), info);
    const auto largest = std::max_element(values.begin(), values.end(),
                                          [](float a, float b) { return std::abs(a) < std::abs(b); });
    if (*largest == 0) continue;  // a bias of the head that only shifts the energy
    Fault fault;
    fault.parameter = info.name;
    fault.index = largest - values.begin();
    fault.factor = 1.1;
    Names names = wrong(fault);
    names.erase("gradient");       // the whole vector and its norm may or may not notice
    names.erase("gradient norm");  // one value among thousands
    EXPECT_EQ(names, Names{"gradient of " + info.name});
  }
}

TEST_F(CheckEngineTest, TheErrorNamesTheParameterAndTheIndex) {
  Fault fault;
  fault.parameter = "rb2.conv_1.conv.weight";
  fault.index = 17;
  fault.factor = std::numeric_limits<double>::infinity();
  const std::string text = message(fault);
  EXPECT_NE(text.find("gradient of rb2.conv_1.conv.weight"), std::string::npos) << text;
  EXPECT_NE(text.find("[17] "), std::string::npos) << text;
}

TEST_F(CheckEngineTest, WrongEnergyAndInputGradientAreFound) {
  Fault energy;
  energy.energy = 0.1f;
  EXPECT_EQ(wrong(energy), Names{"energy"});
  Fault slope;
  slope.grad_x = 1;
  EXPECT_EQ(wrong(slope), Names{"grad_x"});
  EXPECT_NE(message(slope).find("[3]"), std::string::npos);
  Fault broken;
  broken.grad_x = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(wrong(broken), Names{"grad_x"});
  EXPECT_NE(message(broken).find("[3] nan"), std::string::npos);
}

TEST_F(CheckEngineTest, WrongOptimiserIsFound) {
  Fault fault;
  fault.forget_ema = true;
  EXPECT_EQ(wrong(fault), Names{"ema after a step"});
}

TEST_F(CheckEngineTest, DifferentNetworksAreRefused) {
  const network::Spec other = small_spec(network::Network::res6, network::Head::linear, 1);
  EXPECT_THROW(engine::CheckEngine(engine::make_engine({}, parameters_),
                                   engine::make_engine({}, network::Parameters(other))),
               Error);
}

TEST_F(CheckEngineTest, AnswersWithTheTestedEngine) {
  engine::CheckEngine engine = make({});
  const auto alone = engine::make_engine({}, parameters_);
  std::vector<float> expected(2);
  run(engine);
  alone->zero_gradient();
  alone->objective_gradient(batch_.x, batch_.noisy, batch_.weight, residual_, expected);
  alone->optimiser_step({});
  std::vector<float> a(parameters_.values().size()), b(a.size());
  engine.read(engine::StateVector::weights, a);
  alone->read(engine::StateVector::weights, b);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace mdsm::test
