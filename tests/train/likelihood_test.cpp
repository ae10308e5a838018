// Maximum likelihood on an energy whose answer is known, and the rules of its chains.
#include "train/likelihood.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/error.h"
#include "train/tiny_run.h"
#include "train/trainer.h"

namespace mdsm::train {
namespace {

// E(x) = t/2 ‖x - 0.5‖² with one parameter t, the precision of a Gaussian: all others do nothing. Its
// training step is plain descent, so that a gradient can be read from it.
class PrecisionEngine : public engine::TrainableEnergy {
 public:
  PrecisionEngine(const network::Spec& spec, double precision)
      : engine::TrainableEnergy(spec), t_(static_cast<float>(precision)) {}
  std::string name() const override { return "precision"; }
  double precision() const { return static_cast<double>(t_); }
  double gradient() const { return gradient_; }

 private:
  static double half_square(std::span<const float> x) {
    double sum = 0;
    for (const float value : x) sum += std::pow(static_cast<double>(value) - 0.5, 2);
    return sum / 2;
  }
  void energy_impl(ConstTensorView x, std::span<float> energy) override {
    for (int64_t i = 0; i < x.shape.n; ++i)
      energy[static_cast<size_t>(i)] = static_cast<float>(precision() * half_square(x.image(i)));
  }
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    energy_impl(x, energy);
    for (size_t k = 0; k < x.values().size(); ++k) grad_x.values()[k] = t_ * (x.values()[k] - 0.5f);
  }
  void objective_gradient_impl(ConstTensorView, ConstTensorView, std::span<const float>, std::span<float>,
                               std::span<float>) override {
    fail("", "not for denoising");
  }
  void denoiser_gradient_impl(ConstTensorView, ConstTensorView, std::span<const float>, std::span<float>,
                              std::span<float>) override {
    fail("", "not for denoising");
  }
  void energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                            std::span<float> energy) override {
    energy_impl(x, energy);
    for (int64_t i = 0; i < x.shape.n; ++i)
      gradient_ += static_cast<double>(weight[static_cast<size_t>(i)]) * half_square(x.image(i));
  }
  void set_window_impl(const engine::Window&) override {}
  void zero_gradient_impl() override { gradient_ = 0; }
  double gradient_norm_impl() override { return std::abs(gradient_); }
  void optimiser_step_impl(const engine::OptimiserStep& step) override {
    t_ -= static_cast<float>(step.lr * gradient_);
  }
  void read_impl(engine::StateVector, std::span<float>) const override {}
  void write_impl(engine::StateVector, std::span<const float>) override {}

  float t_;
  double gradient_ = 0;
};

// Images 0.5 + 0.2 n: with noise sigma0 = 0.1 on them, a Gaussian of variance 0.05.
class NormalImages : public data::Dataset {
 public:
  int64_t size() const override { return 512; }
  Shape image_shape() const override { return {1, 1, 16, 16}; }
  void read(int64_t index, std::span<float> out) const override {
    RandomStream(2, Purpose::check, static_cast<uint64_t>(index)).fill_normal(out);
    for (float& value : out) value = 0.5f + 0.2f * value;
  }
  std::string description() const override { return "normal"; }
};

TrainOptions likelihood_options() {
  TrainOptions options = tiny_options();
  options.batch = 64;
  options.schedule.kind = RateKind::constant;
  return options;
}

LikelihoodOptions chain_options() {
  LikelihoodOptions ml;
  ml.buffer = 128;
  return ml;
}

// What the objective would save, for looking at its chains.
std::vector<float> chains_of(const Objective& objective) {
  StateWriter state;
  objective.save(state);
  if (state.tensors().empty()) return {};
  const auto values = state.tensors()[0].values;
  return {values.begin(), values.end()};
}

// The variance where Langevin steps of size eps come to rest in this energy.
double resting_variance(double precision, double eps) {
  return 1 / (precision * (1 - eps * eps * precision / 4));
}

// The variance after some steps from a start of variance 1.
double variance_after(double precision, const LikelihoodOptions& ml) {
  double variance = 1;
  for (int64_t k = 0; k < ml.steps; ++k)
    variance = std::pow(1 - ml.eps * ml.eps * precision / 2, 2) * variance + ml.eps * ml.eps;
  return variance;
}

TEST(Likelihood, GradientIsTheDifferenceOfMeans) {
  TrainOptions options = likelihood_options();
  options.schedule.lr = 1e-12;
  const NormalImages data;
  const network::Spec spec = make_spec(options, data.image_shape());
  for (const ChainsKind chains : {ChainsKind::persistent, ChainsKind::noise}) {
    LikelihoodOptions ml = chain_options();
    ml.chains = chains;
    LikelihoodObjective objective(ml);
    PrecisionEngine engine(spec, 40);
    TrainObserver silent;
    Trainer trainer(engine, data, options, objective, false, 0, silent);
    const StepResult result = trainer.take_step(false);
    // d/dt of E is half the squared distance: 256 pixels of variance 0.05, against those of the samples.
    const double samples = variance_after(40, ml);
    EXPECT_NEAR(engine.gradient(), 128 * (0.05 - samples), 128 * 0.05 * 0.03) << to_string(chains);
    EXPECT_NEAR(result.loss, 40 * engine.gradient(), 1e-3 * std::abs(result.loss));
    EXPECT_NEAR(value_of(result.own, "energy_data"), 40 * 128 * 0.05, 40 * 128 * 0.05 * 0.02);
    EXPECT_TRUE(std::isnan(value_of(result.own, "loss_quarters")));
    EXPECT_EQ(chains_of(objective).size(), chains == ChainsKind::persistent ? 128u * 256u : 0u);
  }
}

TEST(Likelihood, FindsThePrecisionOfTheSmoothedData) {
  TrainOptions options = likelihood_options();
  options.schedule.lr = 2;
  LikelihoodOptions ml = chain_options();
  ml.eps = 0.1;  // comes to rest within a training step, also from noise
  LikelihoodObjective objective(ml);
  const NormalImages data;
  PrecisionEngine engine(make_spec(options, data.image_shape()), 5);
  TrainObserver silent;
  Trainer trainer(engine, data, options, objective, false, 0, silent);
  for (int step = 0; step < 60; ++step) ASSERT_TRUE(trainer.take_step(false).applied);
  EXPECT_NEAR(resting_variance(engine.precision(), ml.eps), 0.05, 0.05 * 0.05);
}

TEST(Likelihood, EnergyPenaltyPullsEnergiesTowardsZero) {
  TrainOptions options = likelihood_options();
  options.schedule.lr = 1e-12;
  const NormalImages data;
  const network::Spec spec = make_spec(options, data.image_shape());
  const auto gradient = [&](double penalty) {
    LikelihoodOptions ml = chain_options();
    ml.energy_l2 = penalty;
    LikelihoodObjective objective(ml);
    PrecisionEngine engine(spec, 20);
    TrainObserver silent;
    Trainer trainer(engine, data, options, objective, false, 0, silent);
    const StepResult result = trainer.take_step(false);
    return std::pair{engine.gradient(), result};
  };
  const auto [without, result] = gradient(0);
  const auto [with, same] = gradient(1e-3);
  // d/dt of 1e-3 (mean E² of data + mean E² of samples), E = t S: 2e-3 mean E²/t, up to the spread of E.
  const double data_energy = value_of(result.own, "energy_data"),
               samples = value_of(result.own, "energy_noise");
  const double expected = 2e-3 * (std::pow(data_energy, 2) + std::pow(samples, 2)) / 20;
  EXPECT_NEAR(with - without, expected, 0.02 * expected);
  EXPECT_EQ(result.loss, same.loss);
}

TEST(Likelihood, AStepMovesABatchOfChainsAndRestartsAShare) {
  TrainOptions options = likelihood_options();
  options.schedule.lr = 1e-12;
  const NormalImages data;
  const network::Spec spec = make_spec(options, data.image_shape());
  const auto moved = [&](double restart) {
    LikelihoodOptions ml = chain_options();
    ml.restart = restart;
    LikelihoodObjective objective(ml);
    PrecisionEngine engine(spec, 100);
    TrainObserver silent;
    Trainer trainer(engine, data, options, objective, false, 0, silent);
    const std::vector<float> before = chains_of(objective);
    trainer.take_step(false);
    const std::vector<float> chains = chains_of(objective);
    int64_t count = 0;
    for (size_t i = 0; i < before.size(); i += 256) count += chains[i] != before[i];
    return std::pair{count, chains};
  };
  const auto [none, kept] = moved(0);
  const auto [all, anew] = moved(1);
  EXPECT_EQ(none, 64);  // of 128, none twice
  EXPECT_EQ(all, 64);
  EXPECT_NE(kept, anew);
}

TEST(Likelihood, ChainsOfAnotherSizeAreRefused) {
  const network::Spec spec = make_spec(likelihood_options(), NormalImages().image_shape());
  const TemporaryFolder folder;
  const std::vector<float> chains(2 * 256);
  io::write_safetensors(folder / "few", {{"chains", {2, 1, 16, 16}, chains}}, {});
  io::write_safetensors(folder / "flat", {{"chains", {512}, chains}}, {});
  io::write_safetensors(folder / "none", {}, {});
  for (const char* name : {"few", "flat", "none"}) {
    const io::SafetensorsFile file(folder / name);
    StateReader reader(file, {});
    LikelihoodObjective objective(chain_options());
    EXPECT_THROW(objective.load(reader, spec), Error) << name;
  }
}

}  // namespace
}  // namespace mdsm::train
