#include "sample/hmc.h"

#include "core/error.h"
#include "moments.h"
#include "sample/schedule.h"

namespace mdsm::sample {
namespace {
using namespace test;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(Hmc, MatchesAGaussian) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(0, 32);
  Statistics s(32, 200, gaussian_functions(engine));
  HmcOptions options;
  options.leapfrog = 6, options.burn_in = 200, options.jump = false;
  const auto samples = hmc({engine, seeds, {}, s.observer()}, constant_schedule(1, 800), options);
  expect_gaussian(s, engine.covariance());
  EXPECT_NEAR(mean_of(samples.acceptance), 0.65, 0.03);
  EXPECT_EQ(samples.evaluations[0], 1 + 800 * 6);
  EXPECT_EQ(samples.energy_draws.size(), 600u * 32);
}

TEST(Mala, MatchesAGaussianAtAnyTemperature) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(0, 32);
  Statistics s(32, 400, gaussian_functions(engine));
  auto options = mala_options();
  options.burn_in = 400, options.jump = false;
  const auto samples = mala({engine, seeds, {}, s.observer()}, constant_schedule(0.5, 2000), options);
  expect_gaussian(s, engine.covariance(0.5));
  EXPECT_NEAR(mean_of(samples.acceptance), 0.574, 0.03);
}

TEST(Hmc, MatchesTheModeWeightsOfAMixture) {
  MixtureEnergy engine(3, 0.7, 0.8);
  const auto seeds = seeds_from(0, 64);
  Statistics s(64, 100, {[](auto x) { return x[0] > 0 ? 1.0 : 0.0; }});
  HmcOptions options;
  options.leapfrog = 5, options.burn_in = 100;
  hmc({engine, seeds, {}, s.observer()}, constant_schedule(1, 600), options);
  expect_near(s.of(0), engine.right_share(), "share of the right mode");
}

TEST(Mala, MatchesTheModeWeightsOfAMixture) {
  MixtureEnergy engine(2.4, 0.7, 0.8);
  const auto seeds = seeds_from(0, 64);
  Statistics s(64, 300, {[](auto x) { return x[0] > 0 ? 1.0 : 0.0; }});
  auto options = mala_options();
  options.burn_in = 300;
  mala({engine, seeds, {}, s.observer()}, constant_schedule(1, 2000), options);
  expect_near(s.of(0), engine.right_share(), "share of the right mode");
}

// Started from the distribution itself, with steps so large that many are refused, the chains must still have
// it afterwards. Chains are independent, so the error of a mean is sd/sqrt(n).
void expect_invariant(const HmcOptions& options, double lowest, double highest) {
  MixtureEnergy engine(3, 0.7, 0.8);
  const size_t n = 6000;
  const auto seeds = seeds_from(1000, n);
  const Tensor start = engine.exact_samples(seeds);
  const auto samples = hmc({engine, seeds, start.view()}, constant_schedule(1, 12), options);
  double right = 0, m2 = 0, m4 = 0, energy = 0, acceptance = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto x = samples.x.view().image(static_cast<int64_t>(i));
    right += x[0] > 0;
    for (size_t j = 1; j < kPixels; ++j) {
      const double square = static_cast<double>(x[j]) * x[j];
      m2 += square, m4 += square * square, energy += square / (2 * 0.64);
    }
    acceptance += samples.acceptance[i];
  }
  const double count = static_cast<double>(n), p = engine.right_share(), v = 0.64;
  EXPECT_GT(acceptance / count, lowest);
  EXPECT_LT(acceptance / count, highest);
  EXPECT_NEAR(right / count, p, 5 * std::sqrt(p * (1 - p) / count));
  EXPECT_NEAR(m2 / count / 63, v, 5 * v * std::sqrt(2 / count / 63));
  EXPECT_NEAR(m4 / count / 63, 3 * v * v, 5 * v * v * std::sqrt(96 / count / 63));
  EXPECT_NEAR(energy / count, 31.5, 5 * std::sqrt(31.5 / count));
}

TEST(Hmc, LeavesTheDistributionInvariant) {
  HmcOptions options;
  options.eps = 0.65, options.leapfrog = 4, options.burn_in = 0, options.jump = false;
  expect_invariant(options, 0.3, 0.9);
}

TEST(Mala, LeavesTheDistributionInvariant) {
  auto options = mala_options();
  options.eps = 0.6, options.burn_in = 0, options.jump = false;
  expect_invariant(options, 0.3, 0.9);
}

TEST(Hmc, LeavesAnyTemperatureInvariant) {
  GaussianEnergy engine;
  engine.coupling = 0;
  const size_t n = 3000;
  const auto seeds = seeds_from(0, n);
  for (const double t : {0.1, 10.0}) {
    Tensor start(engine.images(static_cast<int64_t>(n)));
    RandomStream(5, Purpose::check).fill_normal(start.values());
    for (int64_t i = 0; i < start.shape().count(); ++i) {
      const auto j = static_cast<size_t>(i % kPixels);
      start.data()[i] =
          static_cast<float>(engine.mean[j] + start.data()[i] * std::sqrt(t / engine.precision[j]));
    }
    HmcOptions options;
    options.eps = 0.5, options.leapfrog = 4, options.burn_in = 0, options.jump = false;
    const auto samples = hmc({engine, seeds, start.view()}, constant_schedule(t, 12), options);
    double sum = 0;  // of squares that should all have mean 1
    for (int64_t i = 0; i < start.shape().count(); ++i) {
      const auto j = static_cast<size_t>(i % kPixels);
      sum += std::pow(samples.x.data()[i] - engine.mean[j], 2) * engine.precision[j] / t;
    }
    const double count = static_cast<double>(start.shape().count());
    EXPECT_NEAR(sum / count, 1, 5 * std::sqrt(2 / count)) << t;
    EXPECT_LT(mean_of(samples.acceptance), 0.9) << t;
  }
}

TEST(Leapfrog, GoesBackTheWayItCame) {
  MixtureEnergy engine(3, 0.7, 0.8);
  const auto seeds = seeds_from(0, 3);
  Tensor x = engine.exact_samples(seeds), v(x.shape()), g(x.shape());
  const Tensor start = engine.exact_samples(seeds);
  std::vector<float> energy(3);
  std::vector<uint8_t> diverged(3);
  const std::vector<double> eps{0.1, 0.3, 0.5};
  RandomStream(9, Purpose::check).fill_normal(v.values());
  const std::vector<float> v0(v.values().begin(), v.values().end());
  engine.energy_and_gradient(x, energy, g);
  leapfrog(engine, x, v, g, energy, eps, 25, diverged);
  double moved = 0;
  for (size_t i = 0; i < v0.size(); ++i) moved += std::abs(x.data()[i] - start.data()[i]);
  EXPECT_GT(moved, 10);
  for (float& value : v.values()) value = -value;
  leapfrog(engine, x, v, g, energy, eps, 25, diverged);
  for (size_t i = 0; i < v0.size(); ++i) {
    EXPECT_NEAR(x.data()[i], start.data()[i], 1e-5);
    EXPECT_NEAR(-v.data()[i], v0[i], 1e-5);
  }
}

TEST(Hmc, RefusesProposalsThatRunAway) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(0, 4);
  HmcOptions options;
  options.eps = 20, options.leapfrog = 40, options.burn_in = 0, options.jump = false;
  const auto samples = hmc({engine, seeds}, constant_schedule(1, 3), options);
  const Tensor start = start_images(engine.image_shape(), seeds);
  EXPECT_TRUE(std::ranges::equal(samples.x.values(), start.values()));
  for (const double a : samples.acceptance) EXPECT_EQ(a, 0);
}

TEST(Hmc, FindsAStepSizeFromAnyStart) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(0, 8);
  for (const double first : {0.001, 5.0}) {
    HmcOptions options;
    options.eps = first, options.leapfrog = 3, options.target = 0.8, options.burn_in = 400;
    const auto samples = hmc({engine, seeds}, constant_schedule(1, 700), options);
    EXPECT_NEAR(mean_of(samples.acceptance), 0.8, 0.03) << first;
  }
}

TEST(Hmc, FollowsASchedule) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(0, 16);
  HmcOptions options;
  options.leapfrog = 4, options.jump = false;
  const auto samples =
      hmc({engine, seeds}, make_schedule({Annealing::exponential, 50, 1, 50, 100, 20}), options);
  EXPECT_TRUE(samples.energy_draws.empty());
  // Energy of 64 quadratic degrees of freedom: 32 T, while hot and at the end of the cooling.
  EXPECT_NEAR(samples.trace[49].energy, 32 * 50, 5 * 50 * std::sqrt(32.0 / 16));
  EXPECT_NEAR(samples.trace[150].energy, 32, 5 * std::sqrt(32.0 / 16));
  EXPECT_LT(samples.trace.back().energy, 16);
}

TEST(Hmc, RefusesNonsense) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(0, 1);
  const std::vector<double> t{1, 1};
  const auto with = [&](double eps, int64_t leapfrogs, double target, int64_t burn_in) {
    HmcOptions options;
    options.eps = eps, options.leapfrog = leapfrogs, options.target = target, options.burn_in = burn_in;
    return hmc({engine, seeds}, t, options);
  };
  EXPECT_NO_THROW(with(0.1, 1, 0.6, 1));
  EXPECT_THROW(with(-0.1, 1, 0.6, 1), Error);
  EXPECT_THROW(with(0.1, 0, 0.6, 1), Error);
  EXPECT_THROW(with(0.1, 1, 1.5, 1), Error);
  EXPECT_THROW(with(0.1, 1, 0.6, 3), Error);
}

}  // namespace
}  // namespace mdsm::sample
