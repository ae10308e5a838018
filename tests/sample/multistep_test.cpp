#include "sample/multistep.h"

#include <algorithm>

#include "core/error.h"
#include "hot_steps.h"
#include "moments.h"

namespace mdsm::sample {
namespace {
using namespace test;

MultistepOptions from_noise(int64_t steps, double churn) {
  MultistepOptions options;
  options.steps = steps, options.churn = churn, options.hot = 0, options.sigma_max = 3,
  options.sigma_min = 0.1, options.jump = false;
  return options;
}

// Pixel 0 of the deterministic flow ends where sqrt(v + sigma²) has taken it.
double flow_error(int64_t steps) {
  SignalEngine engine;
  const auto seeds = seeds_from(0, 1);
  const Tensor start = start_images(engine.image_shape(), seeds, 3);
  // The noise that the engine sees in the start, which the levels are multiples of.
  double square = 0;
  for (size_t j = 1; j < kPixels; ++j) square += std::pow(start.data()[j] - engine.mean[j], 2);
  const double from = square / (kPixels - 1), to = from / 900, v = SignalEngine::kVariance;
  const double wanted = (start.data()[0] - engine.mean[0]) * std::sqrt((v + to) / (v + from));
  const auto samples = multistep({engine, seeds}, from_noise(steps, 0));
  return std::abs(samples.x.data()[0] - engine.mean[0] - wanted);
}

TEST(Multistep, ConvergesWithTheSquareOfTheStep) {
  EXPECT_NEAR(flow_error(20) / flow_error(40), 4, 0.5);
  EXPECT_NEAR(flow_error(40) / flow_error(80), 4, 0.4);
}

// Mean squares over many samples: of pixel 0, and of the others, which are all noise.
struct Spread {
  double signal = 0, noise = 0;
};
Spread spread(const MultistepOptions& options, size_t n) {
  SignalEngine engine;
  std::ranges::fill(engine.mean, 0.5);  // the start's
  const auto seeds = seeds_from(0, n);
  const auto samples = multistep({engine, seeds}, options);
  Spread found;
  for (int64_t i = 0; i < static_cast<int64_t>(n); ++i) {
    const auto x = samples.x.view().image(i);
    found.signal += std::pow(x[0] - engine.mean[0], 2) / static_cast<double>(n);
    for (size_t j = 1; j < kPixels; ++j)
      found.noise += std::pow(x[j] - engine.mean[j], 2) / static_cast<double>(n * (kPixels - 1));
  }
  return found;
}

TEST(Multistep, KeepsTheSpreadOfTheData) {
  const size_t n = 4000;
  for (const double churn : {0.0, 1.0, 3.0}) {
    const Spread found = spread(from_noise(60, churn), n);
    EXPECT_NEAR(found.noise / 0.01, 1, 5 * std::sqrt(2.0 / (n * (kPixels - 1)))) << churn;
    // The start lacks the data's variance, 0.25 of 9.25. Noise that is put back makes up for it.
    const double v = SignalEngine::kVariance, wanted = (v + 0.01) * (churn == 0 ? 9 / (9 + v) : 1);
    EXPECT_NEAR(found.signal / wanted, 1, 5 * std::sqrt(2.0 / n)) << churn;
  }
}

TEST(Multistep, TakesOutAllNoiseInTheJump) {
  PointEngine engine;
  const auto seeds = seeds_from(0, 3);
  const auto samples = multistep({engine, seeds});
  for (size_t j = 0; j < kPixels; ++j) EXPECT_NEAR(samples.x.data()[j], engine.mean[j], 1e-5);
  for (const int64_t count : samples.evaluations)
    EXPECT_EQ(count, MultistepOptions{}.hot + MultistepOptions{}.steps + 1);
  EXPECT_LE(samples.evaluations[0], 35);
}

TEST(Multistep, HotStepsForgetTheStart) {
  MultistepOptions options;
  options.hot = 4;
  expect_hot_steps_forget_the_start(multistep, options, std::pow(-0.4, 4), options.steps + 1);
}

TEST(Multistep, IsTheSameWithoutChurnWhateverTheSeedOfTheNoise) {
  PointEngine engine;
  const auto one = seeds_from(1, 1), other = seeds_from(2, 1);
  const Tensor start = start_images(engine.image_shape(), one);
  const auto draw = [&](const auto& seeds, double churn) {
    return multistep({engine, seeds, start.view()}, {.steps = 5, .churn = churn, .jump = false});
  };
  EXPECT_TRUE(std::ranges::equal(draw(one, 0).x.values(), draw(other, 0).x.values()));
  EXPECT_FALSE(std::ranges::equal(draw(one, 1).x.values(), draw(other, 1).x.values()));
}

// (1 + w) E - w F, as one formula.
class Difference : public AnalyticEnergy {
 public:
  Difference(const GaussianEnergy& own, const GaussianEnergy& guide, double weight)
      : AnalyticEnergy(kTiny, own.sigma0()), own_(own), guide_(guide), weight_(weight) {}

  double energy_of(const float* x, float* grad_x) const override {
    std::vector<float> other(kPixels);
    const double energy = own_.energy_of(x, grad_x), weak = guide_.energy_of(x, other.data());
    const auto weight = static_cast<float>(weight_);
    for (size_t i = 0; i < kPixels; ++i) grad_x[i] += weight * (grad_x[i] - other[i]);
    return energy + weight_ * (energy - weak);
  }

 private:
  const GaussianEnergy &own_, &guide_;
  double weight_;
};

TEST(Multistep, AGuideIsLedAwayFromBetweenItsNoiseLevels) {
  GaussianEnergy engine, guide;
  for (double& mean : guide.mean) mean += 0.2;
  for (double& precision : guide.precision) precision *= 0.7;
  const auto seeds = seeds_from(0, 2);
  MultistepOptions options;
  options.jump = false, options.guidance = 0.5, options.guidance_min = 0, options.guidance_max = 1000;
  const auto draw = [&](engine::EnergyModel& model, engine::EnergyModel* by) {
    return multistep({.model = model, .seeds = seeds, .guide = by}, options).x;
  };
  const auto expect_same = [](const Tensor& a, const Tensor& b) {
    for (int64_t i = 0; i < a.shape().count(); ++i) ASSERT_NEAR(a.data()[i], b.data()[i], 1e-5) << i;
  };
  const Tensor alone = draw(engine, nullptr), guided = draw(engine, &guide);
  Difference difference(engine, guide, 0.5);
  expect_same(guided, draw(difference, nullptr));
  EXPECT_GT(std::abs(guided.data()[5] - alone.data()[5]), 0.02f);
  // The same denoised image by another sigma0.
  GaussianEnergy scaled(0.2);
  scaled.mean = guide.mean, scaled.precision = guide.precision, scaled.coupling = guide.coupling / 4;
  for (double& precision : scaled.precision) precision /= 4;
  expect_same(guided, draw(engine, &scaled));
  options.guidance_max = 0.05;  // below all levels
  EXPECT_TRUE(std::ranges::equal(draw(engine, &guide).values(), alone.values()));
  options.guidance_max = 1000, options.guidance = 0;
  EXPECT_TRUE(std::ranges::equal(draw(engine, &guide).values(), alone.values()));
}

TEST(Multistep, AnAttractionMovesTheDenoisedImage) {
  GaussianEnergy engine(0.2);
  const auto seeds = seeds_from(4, 2);
  MultistepOptions options{.steps = 1, .hot = 0, .sigma_max = 0.8, .sigma_min = 0.2, .churn = 0};
  options.jump = false, options.class_weight = 3, options.class_min = 0.5, options.class_max = 1;
  const Attraction pull = [](ConstTensorView x, std::span<const uint64_t> of, TensorView grad_x) {
    ASSERT_EQ(of.size(), 2u);
    for (int64_t i = 0; i < x.shape.n; ++i)
      for (size_t j = 0; j < kPixels; ++j)
        grad_x.image(i)[j] = static_cast<float>(of[static_cast<size_t>(i)]) * (x.image(i)[j] + 1);
  };
  const auto draw = [&](const Attraction& by) {
    return multistep({.model = engine, .seeds = seeds, .attraction = by}, options).x;
  };
  const Tensor start = start_images(engine.image_shape(), seeds, 0.8), alone = draw({}), drawn = draw(pull);
  const double ratio = 0.2 / 0.8;  // x <- ratio x + (1 - ratio) D
  for (int64_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < kPixels; ++j) {
      const double gradient = static_cast<double>(4 + i) * (start.view().image(i)[j] + 1);
      ASSERT_NEAR(drawn.view().image(i)[j] - alone.view().image(i)[j],
                  -(1 - ratio) * 3 * 0.8 * 0.8 * gradient, 1e-4)
          << i << " " << j;
    }
  options.class_max = 0.7;  // below the one level there is
  EXPECT_TRUE(std::ranges::equal(draw(pull).values(), alone.values()));
  options.class_max = 1, options.class_weight = 0;
  EXPECT_TRUE(std::ranges::equal(draw(pull).values(), alone.values()));
}

// Two kinds of images, one above and one below 0.5, of equal number. log p(kind|x) is known.
TEST(Multistep, ByBayesRuleAllSamplesAreOfTheirKind) {
  constexpr double kAway = 0.4, kSpread = 0.1;
  class TwoKinds : public AnalyticEnergy {
   public:
    TwoKinds() : AnalyticEnergy(kTiny, 0.1) {}
    // Blind to the noise but for what x tells: that of the mixture with noise sigma0.
    double energy_of(const float* x, float* grad_x) const override {
      const double v = kSpread * kSpread + sigma0() * sigma0();
      double energy = 0, sum = 0;
      for (size_t i = 0; i < kPixels; ++i) sum += x[i] - 0.5;
      const double side = std::tanh(kAway * sum / v);
      for (size_t i = 0; i < kPixels; ++i) {
        const double off = x[i] - 0.5;
        energy += off * off / (2 * v);
        grad_x[i] = static_cast<float>((off - kAway * side) / v);
      }
      return energy - std::log(std::cosh(std::clamp(kAway * sum / v, -300.0, 300.0)));
    }
  } engine;
  const auto seeds = seeds_from(0, 60);
  MultistepOptions options{.steps = 24, .hot = 0, .sigma_max = 0.4, .sigma_min = 0.1, .churn = 1};
  options.class_weight = 1, options.class_min = 0, options.class_max = 10;
  // Even seeds above, odd seeds below: -log p = log(1 + exp(-2 s a sum / v)), with the variance at the
  // highest noise.
  const Attraction kind = [](ConstTensorView x, std::span<const uint64_t> of, TensorView grad_x) {
    const double v = kSpread * kSpread + 0.4 * 0.4;
    for (int64_t i = 0; i < x.shape.n; ++i) {
      const double s = of[static_cast<size_t>(i)] % 2 == 0 ? 1 : -1;
      double sum = 0;
      for (const float value : x.image(i)) sum += value - 0.5;
      const double rate = 2 * s * kAway / v, p = 1 / (1 + std::exp(std::min(300.0, rate * sum)));
      for (float& value : grad_x.image(i)) value = static_cast<float>(-rate * p);
    }
  };
  const auto right = [&](const Attraction& by) {
    const Samples found = multistep({.model = engine, .seeds = seeds, .attraction = by}, options);
    int count = 0;
    for (int64_t i = 0; i < 60; ++i) {
      double sum = 0;
      for (const float value : found.x.view().image(i)) sum += value - 0.5;
      count += (sum > 0) == (i % 2 == 0);
    }
    return count;
  };
  const int by_chance = right({});
  EXPECT_GT(by_chance, 15);
  EXPECT_LT(by_chance, 45);
  EXPECT_GE(right(kind), 57);
}

TEST(Multistep, RefusesNonsense) {
  PointEngine engine;
  const auto seeds = seeds_from(0, 1);
  const auto with = [&](const MultistepOptions& options) { multistep({engine, seeds}, options); };
  EXPECT_NO_THROW(with({.steps = 1}));
  EXPECT_THROW(with({.steps = 0}), Error);
  EXPECT_THROW(with({.hot = -1}), Error);
  EXPECT_THROW(with({.sigma_max = 0.1}), Error);
  EXPECT_THROW(with({.sigma_min = 0}), Error);
  EXPECT_THROW(with({.churn = -1}), Error);
  EXPECT_THROW(with({.churn = NAN}), Error);
  EXPECT_THROW(with({.guidance = -1}), Error);
  EXPECT_THROW(with({.class_weight = -1}), Error);
  EXPECT_THROW(with({.class_weight = NAN}), Error);
}

}  // namespace
}  // namespace mdsm::sample
