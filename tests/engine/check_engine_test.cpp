// CheckEngine over an engine that is wrong in one known place must name that place and no other.
#include "engine/check_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

struct Fault {
  std::string parameter;  // its gradient gets one wrong value
  int64_t index = 0;
  double factor = 1;        // of that value
  float energy = 0;         // added to the energy of image 0
  float grad_x = 0;         // added to one value of grad_x
  bool forget_ema = false;  // the moving average stays where it was
};

// The real engine with one fault put in.
class FaultyEngine : public Engine {
 public:
  FaultyEngine(std::unique_ptr<Engine> real, Fault fault)
      : Engine(real->spec()), real_(std::move(real)), fault_(std::move(fault)) {}
  std::string name() const override { return "faulty"; }

 private:
  void energy_impl(ConstTensorView x, std::span<float> energy) override {
    real_->energy(x, energy);
    energy[0] += fault_.energy;
  }
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    real_->energy_and_gradient(x, energy, grad_x);
    grad_x.values()[3] += fault_.grad_x;
  }
  void objective_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                               std::span<float> residual, std::span<float> energy) override {
    real_->objective_gradient(x, noisy, weight, residual, energy);
    if (fault_.parameter.empty()) return;
    auto gradient = state(StateVector::gradient);
    const Parameters names(spec());
    float& value = gradient[static_cast<size_t>(names.info(fault_.parameter).offset + fault_.index)];
    value = static_cast<float>(static_cast<double>(value) * fault_.factor);
    real_->write(StateVector::gradient, gradient);
  }
  void zero_gradient_impl() override { real_->zero_gradient(); }
  double gradient_norm_impl() override { return real_->gradient_norm(); }
  void optimiser_step_impl(const AdamStep& step) override {
    const auto ema = state(StateVector::ema);
    real_->optimiser_step(step);
    if (fault_.forget_ema) real_->write(StateVector::ema, ema);
  }
  void read_impl(StateVector which, std::span<float> out) const override { real_->read(which, out); }
  void write_impl(StateVector which, std::span<const float> values) override { real_->write(which, values); }

  std::vector<float> state(StateVector which) const {
    std::vector<float> values(static_cast<size_t>(parameter_count(spec())));
    real_->read(which, values);
    return values;
  }

  std::unique_ptr<Engine> real_;
  Fault fault_;
};

class CheckEngineTest : public testing::Test {
 protected:
  CheckEngine make(const Fault& fault) const {
    const auto real = [&] { return make_engine({"native", "cpu"}, parameters_); };
    return {std::make_unique<FaultyEngine>(real(), fault), real()};
  }
  void run(Engine& engine) {
    engine.energy(batch_.noisy, energy_);
    engine.energy_and_gradient(batch_.noisy, energy_, grad_x_);
    engine.objective_gradient(batch_.x, batch_.noisy, batch_.weight, residual_, energy_);
    engine.gradient_norm();
    engine.optimiser_step({});
  }
  // Names of all kinds beyond their tolerance.
  std::set<std::string> wrong(const Fault& fault) {
    CheckEngine engine = make(fault);
    engine.set_throwing(false);
    run(engine);
    std::set<std::string> names;
    for (const Difference& d : engine.worst())
      if (!d.ok()) names.insert(d.what);
    return names;
  }
  std::string message(const Fault& fault) {
    CheckEngine engine = make(fault);
    try {
      run(engine);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  Spec spec_ = small_spec(Network::res6, Head::quadratic, 1);
  Parameters parameters_ = lively_parameters(spec_, 2);
  Batch batch_{spec_, 2};
  std::vector<float> energy_ = std::vector<float>(2), residual_ = std::vector<float>(2);
  Tensor grad_x_{spec_.input(2)};
};

using Names = std::set<std::string>;

TEST_F(CheckEngineTest, AgreementIsSilent) {
  EXPECT_EQ(wrong({}), Names{});
  EXPECT_EQ(message({}), "no error");
  CheckEngine engine = make({});
  run(engine);
  Names seen;
  for (const Difference& d : engine.worst()) EXPECT_TRUE(seen.insert(d.what).second) << d.what;
  for (const char* kind : {"energy", "grad_x", "residual", "gradient", "weights after a step"})
    EXPECT_TRUE(seen.contains(kind)) << kind;
  for (const ParameterInfo& info : parameters_.layout())
    EXPECT_TRUE(seen.contains("gradient of " + info.name)) << info.name;
}

TEST_F(CheckEngineTest, OneWrongValueOfOneGradientIsFound) {
  // The largest value of each parameter's gradient, as the smallest ones are below what float32 can tell.
  CheckEngine engine = make({});
  run(engine);
  std::vector<float> gradient(parameters_.values().size());
  engine.read(StateVector::gradient, gradient);
  for (const ParameterInfo& info : parameters_.layout()) {
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
  const Spec other = small_spec(Network::res6, Head::quadratic, 1);
  EXPECT_THROW(CheckEngine(make_engine({}, parameters_), make_engine({}, Parameters(other))), Error);
}

TEST_F(CheckEngineTest, AnswersWithTheTestedEngine) {
  CheckEngine engine = make({});
  const auto alone = make_engine({}, parameters_);
  std::vector<float> expected(2);
  run(engine);
  alone->zero_gradient();
  alone->objective_gradient(batch_.x, batch_.noisy, batch_.weight, residual_, expected);
  alone->optimiser_step({});
  std::vector<float> a(parameters_.values().size()), b(a.size());
  engine.read(StateVector::weights, a);
  alone->read(StateVector::weights, b);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace mdsm::test
