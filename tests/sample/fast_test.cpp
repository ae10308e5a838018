#include "sample/fast.h"

#include <algorithm>

#include "core/error.h"
#include "hot_steps.h"
#include "moments.h"

namespace mdsm::sample {
namespace {
using namespace test;

double share(double h0, int64_t t) {
  const double s = static_cast<double>(t);
  return h0 * s / (1 + h0 * (s - 1));
}

TEST(Fast, RemovesNoiseAtTheRateItPromises) {
  // With beta = 1 no noise comes back: sigma_t = sigma_0 prod (1 - h), for every sample.
  PointEngine engine;
  const auto seeds = seeds_from(0, 5);
  FastOptions options;
  options.h0 = 0.05, options.beta = 1, options.sigma_end = 0.01, options.hot = 0;
  std::vector<double> sigma;
  const auto observer = [&](const StepReport& r) { sigma.push_back(r.sigma); };
  const auto samples = fast_blind({engine, seeds, {}, observer}, options);
  double wanted = sigma[0];
  for (size_t t = 1; t < sigma.size(); ++t) {
    wanted *= 1 - share(0.05, static_cast<int64_t>(t));
    if (samples.trace[t].samples < 5) break;  // the mean is then over others
    EXPECT_NEAR(sigma[t], wanted, 1e-5 * wanted);
  }
  for (int64_t i = 0; i < 5; ++i)
    for (size_t j = 0; j < kPixels; ++j)
      EXPECT_NEAR(samples.x.view().image(i)[j], engine.mean[j], 1e-6);  // the jump is exact here
}

TEST(Fast, PutsBackAsMuchNoiseAsBetaSays) {
  // d is the noise, so sigma² falls by (1 - beta h)² a step in expectation.
  PointEngine engine;
  const size_t n = 400;
  const auto seeds = seeds_from(0, n);
  FastOptions options;
  options.h0 = 0.1, options.beta = 0.3, options.sigma_end = 1e-4, options.evaluations = 20, options.hot = 5,
  options.jump = false;
  std::vector<double> square;
  const auto observer = [&](const StepReport& r) {
    double sum = 0;
    for (int64_t i = 0; i < r.x.shape.n; ++i)
      for (size_t j = 0; j < kPixels; ++j) sum += std::pow(r.x.image(i)[j] - engine.mean[j], 2);
    square.push_back(sum / static_cast<double>(r.x.shape.n * kPixels));
  };
  fast_blind({engine, seeds, {}, observer}, options);
  double wanted = square[0];
  for (size_t t = 1; t < square.size(); ++t) {
    if (t > 5) wanted *= std::pow(1 - 0.3 * share(0.1, static_cast<int64_t>(t) - 5), 2);  // hot steps keep it
    EXPECT_NEAR(square[t] / wanted, 1, 5 * std::sqrt(2.0 * static_cast<double>(t + 1) / (n * kPixels))) << t;
  }
}

TEST(Fast, HotStepsKeepTheNoiseAlsoWhenItIsUnderestimated) {
  // A residual of 0.8 times the noise is that of a Gaussian of variance 1/0.8, wherever it began.
  PointEngine engine;
  for (double& precision : engine.precision) precision *= 0.8;
  const auto seeds = seeds_from(0, 1000);
  FastOptions options;
  options.hot = 25, options.evaluations = 100;
  double variance = 0;
  const auto observer = [&](const StepReport& r) {
    if (r.step != 25) return;
    for (int64_t i = 0; i < r.x.shape.n; ++i)
      for (size_t j = 0; j < kPixels; ++j)
        variance += std::pow(r.x.image(i)[j] - engine.mean[j], 2) / (1000.0 * kPixels);
  };
  fast_blind({engine, seeds, {}, observer}, options);
  const double wanted = 1 / 0.8;
  EXPECT_NEAR(variance, wanted, 5 * wanted * std::sqrt(2 / (1000.0 * kPixels)));
}

TEST(Fast, KeepsTheSpreadOfTheData) {
  // 96 % of pixel 0's variance; with noise of its own in every step the sampler leaves 57 %.
  SignalEngine engine;
  const size_t n = 4000;
  FastOptions options;
  options.h0 = 0.1, options.beta = 0.1, options.sigma_max = 3, options.evaluations = 200,
  options.jump = false;
  const auto seeds = seeds_from(0, n);
  const auto samples = fast_blind({engine, seeds}, options);
  double variance = 0, noise = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(n); ++i) {
    const auto x = samples.x.view().image(i);
    variance += std::pow(x[0] - engine.mean[0], 2) / n;
    for (size_t j = 1; j < kPixels; ++j) noise += std::pow(x[j] - engine.mean[j], 2) / (n * (kPixels - 1));
  }
  EXPECT_NEAR((variance - noise) / SignalEngine::kVariance, 1, 0.1);
}

TEST(Fast, EverySampleStopsOnItsOwn) {
  PointEngine engine;
  const auto seeds = seeds_from(0, 24);
  Tensor start = start_images(engine.image_shape(), seeds);
  for (int64_t i = 0; i < 24; ++i)  // from nearly clean to very noisy
    for (size_t j = 0; j < kPixels; ++j) {
      float& value = start.view().image(i)[j];
      value = static_cast<float>(engine.mean[j] + (value - 0.5) * std::pow(2.0, i / 3 - 6));
    }
  FastOptions options;
  options.beta = 0.8, options.sigma_end = 0.02, options.evaluations = 60, options.hot = 0;
  const auto samples = fast_blind({engine, seeds, start.view()}, options);
  EXPECT_EQ(samples.evaluations[0], 1);
  EXPECT_GT(samples.evaluations[23], 10);
  for (size_t i = 6; i < 24; ++i)
    EXPECT_GE(samples.evaluations[i], samples.evaluations[i - 6]) << i;  // 4 x the noise
  EXPECT_EQ(samples.steps + 1, std::ranges::max(samples.evaluations));
  EXPECT_EQ(samples.trace.back().samples, std::ranges::count(samples.evaluations, samples.steps + 1));
  for (int64_t i = 0; i < 24; ++i) {
    EXPECT_LT(samples.sigma[static_cast<size_t>(i)], 0.02f);
    const std::vector<uint64_t> one{seeds[static_cast<size_t>(i)]};
    const auto alone = fast_blind({engine, one, start.view().images(i, 1)}, options);
    EXPECT_TRUE(std::ranges::equal(alone.x.values(), samples.x.view().image(i))) << i;
    EXPECT_EQ(alone.evaluations[0], samples.evaluations[static_cast<size_t>(i)]);
  }
}

TEST(Fast, KeepsToItsNumberOfEvaluations) {
  PointEngine engine;
  const auto seeds = seeds_from(0, 3);
  FastOptions options;
  options.sigma_end = 1e-9, options.beta = 0;
  for (const int64_t most : {1, 2, 37}) {
    options.evaluations = most;
    const auto samples = fast_blind({engine, seeds}, options);
    for (const int64_t e : samples.evaluations) EXPECT_EQ(e, most);
  }
  EXPECT_LE(FastOptions{}.evaluations, 100);
}

TEST(Ode, MatchesTheClosedFormOnAGaussian) {
  // d = k (x - mean) with k = sigma0² precision: x - mean shrinks by (1 + (r - 1) k) an Euler step.
  GaussianEnergy engine(0.5);
  engine.coupling = 0;
  const auto seeds = seeds_from(0, 2);
  OdeOptions options;
  options.method = OdeMethod::euler, options.steps = 12, options.jump = false, options.hot = 0;
  const auto grid = noise_grid(options);
  const Tensor start = start_images(engine.image_shape(), seeds);
  const auto euler = ode({engine, seeds}, options);
  for (size_t j = 0; j < kPixels; ++j) {
    const double k = 0.25 * engine.precision[j];
    double factor = 1;
    for (size_t i = 0; i + 1 < grid.size(); ++i) factor *= 1 + (grid[i + 1] / grid[i] - 1) * k;
    EXPECT_NEAR(euler.x.data()[j], engine.mean[j] + factor * (start.data()[j] - engine.mean[j]), 1e-5);
  }
  // In the limit of a fine grid it shrinks by (sigma_min / sigma_max)^k; Heun is far closer to that.
  options.method = OdeMethod::heun;
  const auto heun = ode({engine, seeds}, options);
  double error_euler = 0, error_heun = 0;
  for (size_t j = 0; j < kPixels; ++j) {
    const double limit =
        engine.mean[j] + std::pow(0.05, 0.25 * engine.precision[j]) * (start.data()[j] - engine.mean[j]);
    error_euler = std::max(error_euler, std::abs(euler.x.data()[j] - limit));
    error_heun = std::max(error_heun, std::abs(heun.x.data()[j] - limit));
  }
  EXPECT_LT(error_heun, 0.2 * error_euler);
  EXPECT_EQ(euler.evaluations[0], 13);
  EXPECT_EQ(heun.evaluations[0], 25);
}

TEST(Ode, HeunConvergesWithTheSquareOfTheStep) {
  GaussianEnergy engine(0.5);
  engine.coupling = 0;
  const auto seeds = seeds_from(0, 1);
  const auto error = [&](int64_t steps) {
    OdeOptions options;
    options.steps = steps, options.jump = false, options.hot = 0;
    const auto samples = ode({engine, seeds}, options);
    const Tensor start = start_images(engine.image_shape(), seeds);
    const double limit =
        engine.mean[40] + std::pow(0.05, 0.25 * engine.precision[40]) * (start.data()[40] - engine.mean[40]);
    return std::abs(samples.x.data()[40] - limit);
  };
  EXPECT_NEAR(error(10) / error(20), 4, 0.8);
}

TEST(Ode, JumpRemovesWhatIsLeft) {
  PointEngine engine;
  const auto seeds = seeds_from(0, 2);
  const auto samples = ode({engine, seeds}, {});
  for (size_t j = 0; j < kPixels; ++j) EXPECT_NEAR(samples.x.data()[j], engine.mean[j], 1e-6);
  EXPECT_LE(samples.evaluations[0], 100);
}

TEST(Ode, HotStepsForgetTheStart) {
  OdeOptions options;
  options.hot = 12;
  expect_hot_steps_forget_the_start(ode, options, std::pow(0.5, 12), 2 * options.steps + 1);
}

TEST(Ode, GridRunsFromMaxToMin) {
  OdeOptions options;
  options.steps = 4, options.sigma_max = 81, options.sigma_min = 1, options.rho = 4;
  const auto grid = noise_grid(options);
  ASSERT_EQ(grid.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(grid[i], std::pow(3 - 0.5 * static_cast<double>(i), 4), 1e-9);
}

TEST(Fast, RefusesNonsense) {
  PointEngine engine;
  const auto seeds = seeds_from(0, 1);
  const auto fast = [&](double h0, double beta, double sigma_end, int64_t evaluations) {
    fast_blind({engine, seeds}, {h0, beta, sigma_end, evaluations, true});
  };
  EXPECT_NO_THROW(fast(0.1, 0.5, 0.1, 5));
  EXPECT_THROW(fast(0, 0.5, 0.1, 5), Error);
  EXPECT_THROW(fast(0.1, 1.1, 0.1, 5), Error);
  EXPECT_THROW(fast(0.1, 0.5, NAN, 5), Error);
  EXPECT_THROW(fast(0.1, 0.5, 0.1, 0), Error);
  EXPECT_THROW(fast_blind({engine, seeds}, {0.1, 0.5, 0.1, 9, true, -1}), Error);
  const auto grid = [&](int64_t steps, double sigma_max, double sigma_min, double rho) {
    ode({engine, seeds}, {OdeMethod::heun, steps, sigma_max, sigma_min, rho, true});
  };
  EXPECT_NO_THROW(grid(2, 1, 0.1, 7));
  EXPECT_THROW(grid(0, 1, 0.1, 7), Error);
  EXPECT_THROW(grid(2, 1, 2, 7), Error);
  EXPECT_THROW(grid(2, INFINITY, 0.1, 7), Error);
  EXPECT_THROW(grid(2, 1, 0.1, 0), Error);
}

}  // namespace
}  // namespace mdsm::sample
