// Maximum likelihood on an energy whose answer is known, and the rules of its chains.
#include "train/likelihood.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/error.h"
#include "train/tiny_run.h"
#include "train/trainer.h"

namespace mdsm::train {
namespace {

// E(x) = t/2 ‖x - 0.5‖² with one parameter t, the precision of a Gaussian: all others do nothing. Its update
// is plain descent, so that a gradient can be read from it.
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
  void energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                            std::span<float> energy) override {
    energy_impl(x, energy);
    for (int64_t i = 0; i < x.shape.n; ++i)
      gradient_ += static_cast<double>(weight[static_cast<size_t>(i)]) * half_square(x.image(i));
  }
  void zero_gradient_impl() override { gradient_ = 0; }
  double gradient_norm_impl() override { return std::abs(gradient_); }
  void optimiser_step_impl(const engine::AdamStep& step) override { t_ -= static_cast<float>(step.lr * gradient_); }
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
  options.objective = "ml";
  options.batch = 64;
  options.ml.buffer = 128;
  options.schedule.kind = "constant";
  return options;
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
  for (const char* chains : {"persistent", "noise"}) {
    options.ml.chains = chains;
    PrecisionEngine engine(spec, 40);
    std::vector<float> kept;
    TrainObserver silent;
    Trainer trainer(engine, data, options, false, 0, kept, silent);
    const StepResult result = trainer.update(false);
    // d/dt of E is half the squared distance: 256 pixels of variance 0.05, against those of the samples.
    const double samples = variance_after(40, options.ml);
    EXPECT_NEAR(engine.gradient(), 128 * (0.05 - samples), 128 * 0.05 * 0.03) << chains;
    EXPECT_NEAR(result.loss, 40 * engine.gradient(), 1e-3 * std::abs(result.loss));
    EXPECT_NEAR(result.energy_data, 40 * 128 * 0.05, 40 * 128 * 0.05 * 0.02);
    EXPECT_TRUE(std::isnan(result.quarters[0]));
    EXPECT_EQ(kept.size(), std::string(chains) == "persistent" ? 128u * 256u : 0u);
  }
}

TEST(Likelihood, FindsThePrecisionOfTheSmoothedData) {
  TrainOptions options = likelihood_options();
  options.schedule.lr = 2;
  options.ml.eps = 0.1;  // comes to rest within an update, also from noise
  const NormalImages data;
  PrecisionEngine engine(make_spec(options, data.image_shape()), 5);
  std::vector<float> chains;
  TrainObserver silent;
  Trainer trainer(engine, data, options, false, 0, chains, silent);
  for (int step = 0; step < 60; ++step) ASSERT_TRUE(trainer.update(false).applied);
  EXPECT_NEAR(resting_variance(engine.precision(), options.ml.eps), 0.05, 0.05 * 0.05);
}

TEST(Likelihood, EnergyPenaltyPullsEnergiesTowardsZero) {
  TrainOptions options = likelihood_options();
  options.schedule.lr = 1e-12;
  const NormalImages data;
  const network::Spec spec = make_spec(options, data.image_shape());
  const auto gradient = [&](double penalty) {
    options.ml.energy_l2 = penalty;
    PrecisionEngine engine(spec, 20);
    std::vector<float> chains;
    TrainObserver silent;
    Trainer trainer(engine, data, options, false, 0, chains, silent);
    const StepResult result = trainer.update(false);
    return std::pair{engine.gradient(), result};
  };
  const auto [without, result] = gradient(0);
  const auto [with, same] = gradient(1e-3);
  // d/dt of 1e-3 (mean E² of data + mean E² of samples), E = t S: 2e-3 mean E²/t, up to the spread of E.
  const double expected = 2e-3 * (std::pow(result.energy_data, 2) + std::pow(result.energy_noise, 2)) / 20;
  EXPECT_NEAR(with - without, expected, 0.02 * expected);
  EXPECT_EQ(result.loss, same.loss);
}

TEST(Likelihood, AnUpdateMovesABatchOfChainsAndRestartsAShare) {
  TrainOptions options = likelihood_options();
  options.schedule.lr = 1e-12;
  const NormalImages data;
  const network::Spec spec = make_spec(options, data.image_shape());
  const auto moved = [&](double restart) {
    options.ml.restart = restart;
    PrecisionEngine engine(spec, 100);
    std::vector<float> chains;
    TrainObserver silent;
    Trainer trainer(engine, data, options, false, 0, chains, silent);
    const std::vector<float> before = chains;
    trainer.update(false);
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
  const TrainOptions options = likelihood_options();
  const NormalImages data;
  PrecisionEngine engine(make_spec(options, data.image_shape()), 5);
  std::vector<float> chains(100);
  TrainObserver silent;
  EXPECT_THROW(Trainer(engine, data, options, false, 0, chains, silent), Error);
}

}  // namespace
}  // namespace mdsm::train
