#include "sample/langevin.h"

#include "core/error.h"
#include "moments.h"
#include "sample/update.h"

namespace mdsm::sample {
namespace {
using namespace test;

TEST(Langevin, MatchesAGaussianWithItsKnownStepSizeError) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(0, 64);
  Statistics s(64, 300, gaussian_functions(engine));
  const double eps = 0.5;
  const auto samples = langevin({engine, seeds, {}, s.observer()}, {1, 1500, 300}, {eps, false});
  expect_gaussian(s, engine.langevin_covariance(eps));
  EXPECT_EQ(samples.energy_draws.size(), 1200u * 64);
  EXPECT_EQ(samples.evaluations[0], 1501);
  EXPECT_NEAR(diagnose(samples.energy_draws, 64).r_hat, 1, 0.05);
}

TEST(Langevin, TemperatureScalesTheCovariance) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(100, 64);
  Statistics s(64, 300, gaussian_functions(engine));
  langevin({engine, seeds, {}, s.observer()}, {0.25, 1500, 300}, {0.5, false});
  auto wanted = engine.langevin_covariance(0.5);
  wanted.v00 *= 0.25, wanted.v11 *= 0.25, wanted.v01 *= 0.25;
  expect_gaussian(s, wanted);
}

TEST(Langevin, MatchesTheModeWeightsOfAMixture) {
  MixtureEnergy engine(2.4, 0.7, 0.8);
  const auto seeds = seeds_from(0, 64);
  Statistics s(64, 500, {[](auto x) { return x[0] > 0 ? 1.0 : 0.0; }, [](auto x) { return x[0]; }});
  langevin({engine, seeds, {}, s.observer()}, {1, 4000, 500}, {0.25, false});
  expect_near(s.of(0), engine.right_share(), "share of the right mode");
  expect_near(s.of(1), 1.2 * 0.7 - 1.2 * 0.3, "mean of pixel 0");
}

TEST(Annealed, FindsTheModesOfAMixtureInTheirProportion) {
  // Cooled to T = 1 and held there: a chain that started hot must not remember where.
  MixtureEnergy engine(3, 0.7, 0.8);
  const size_t n = 600;
  const auto seeds = seeds_from(0, n);
  auto schedule = make_schedule({Annealing::exponential, 20, 1, 50, 400, 0});
  schedule.resize(1200, 1.0);
  const auto samples = annealed_langevin({engine, seeds}, schedule, {0.3, false});
  double right = 0, m2 = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto x = samples.x.view().image(static_cast<int64_t>(i));
    right += x[0] > 0;
    m2 += static_cast<double>(x[5]) * x[5];
  }
  const double p = engine.right_share(), count = static_cast<double>(n);
  EXPECT_NEAR(right / count, p, 5 * std::sqrt(p * (1 - p) / count));
  const double variance = 0.64 / (1 - 0.09 / 0.64 / 4);
  EXPECT_NEAR(m2 / count, variance, 5 * variance * std::sqrt(2 / count));
}

TEST(Annealed, EndsInTheModesWhenCooledToZero) {
  MixtureEnergy engine(6, 0.5, 0.5);
  const auto seeds = seeds_from(0, 64);
  const auto samples = annealed_langevin(
      {engine, seeds}, make_schedule({Annealing::exponential, 20, 1, 50, 300, 200}), {0.2, false});
  int right = 0;
  for (int64_t i = 0; i < 64; ++i) {
    const auto x = samples.x.view().image(i);
    EXPECT_NEAR(std::abs(x[0]), 3, 0.5);
    right += x[0] > 0;
  }
  EXPECT_GT(right, 10);
  EXPECT_LT(right, 54);
}

TEST(Annealed, StepIsThePapersToTheLastDigit) {
  GaussianEnergy engine;
  const std::vector<uint64_t> seeds{42};
  const double eps = 0.1, t = 4;
  const auto one = annealed_langevin({engine, seeds}, std::vector<double>{t}, {eps, false});
  Tensor x = start_images(engine.image_shape(), seeds), g(x.shape());
  std::vector<float> energy(1), n(kPixels), n0(kPixels);
  sample_stream(42, Draw::start).fill_normal(n0);
  sample_stream(42, Draw::step, 0).fill_normal(n);
  engine.energy_and_gradient(x, energy, g);
  for (size_t i = 0; i < kPixels; ++i) {
    EXPECT_EQ(x.data()[i], 0.5f + n0[i]);
    const double wanted = x.data()[i] - eps * eps / 2 * g.data()[i] + eps * std::sqrt(t) * n[i];
    EXPECT_NEAR(one.x.data()[i], wanted, 1e-6);
  }
  EXPECT_EQ(one.trace[0].energy, static_cast<double>(energy[0]));
  // The jump: x - sigma0² grad_x at the end of the same path.
  const auto jumped = annealed_langevin({engine, seeds}, std::vector<double>{t}, {eps, true});
  engine.energy_and_gradient(one.x, energy, g);
  for (size_t i = 0; i < kPixels; ++i)
    EXPECT_NEAR(jumped.x.data()[i], one.x.data()[i] - 0.01 * g.data()[i], 1e-6);
}

TEST(Annealed, ADivergingChainIsAnErrorWithSeedAndStep) {
  GaussianEnergy engine;
  const std::vector<uint64_t> seeds{3, 77};
  try {
    annealed_langevin({engine, seeds}, std::vector<double>(500, 1.0), {10, true});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("seed 3 diverged at step "), std::string::npos) << error.what();
    EXPECT_NE(error.hint().find("eps"), std::string::npos);
  }
}

TEST(Annealed, StopsWhenAsked) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(0, 3);
  std::atomic<bool> stop = false;
  sample::Run run{engine, seeds, {}, [&](const StepReport& r) { stop = r.step == 5; }, &stop};
  const auto samples = annealed_langevin(run, std::vector<double>(100, 1.0));
  EXPECT_TRUE(samples.stopped);
  EXPECT_EQ(samples.steps, 5);
  // What it hands back is where the chains were: five steps, no jump.
  const auto five = annealed_langevin({engine, seeds}, std::vector<double>(5, 1.0), {0.02, false});
  EXPECT_TRUE(std::ranges::equal(samples.x.values(), five.x.values()));
}

TEST(Annealed, TheObserverSeesEveryStateWithItsOwnEnergyAndGradient) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(5, 4);
  int64_t next = 0;
  const auto observer = [&](const StepReport& r) {
    EXPECT_EQ(r.step, next++);
    EXPECT_EQ(r.steps, 7);
    EXPECT_EQ(r.temperature, r.step < 7 ? 2 : 0);
    EXPECT_EQ(r.index.size(), 4u);
    Tensor g(r.x.shape);
    std::vector<float> energy(4);
    engine.energy_and_gradient(r.x, energy, g);
    EXPECT_TRUE(std::ranges::equal(r.grad_x.values(), g.values()));
    EXPECT_TRUE(std::ranges::equal(r.energy, energy));
  };
  const auto samples = annealed_langevin({engine, seeds, {}, observer}, std::vector<double>(7, 2.0));
  EXPECT_EQ(next, 8);
  EXPECT_EQ(samples.trace.size(), 8u);
  EXPECT_EQ(samples.gradient_evaluations(), 4 * 8);
}

TEST(Annealed, RefusesNonsense) {
  GaussianEnergy engine;
  const auto seeds = seeds_from(0, 1);
  const std::vector<double> t{1};
  EXPECT_THROW(annealed_langevin({engine, {}}, t), Error);
  EXPECT_THROW(annealed_langevin({engine, seeds}, {}), Error);
  EXPECT_THROW(annealed_langevin({engine, seeds}, std::vector<double>{-1.0}), Error);
  EXPECT_THROW(annealed_langevin({engine, seeds}, std::vector<double>{NAN}), Error);
  EXPECT_THROW(annealed_langevin({engine, seeds}, t, {0, true}), Error);
  Tensor wrong({2, 1, 8, 8});
  EXPECT_THROW(annealed_langevin({engine, seeds, wrong.view()}, t), Error);
  Tensor bad({1, 1, 8, 8}, NAN);
  EXPECT_THROW(annealed_langevin({engine, seeds, bad.view()}, t), Error);
  EXPECT_THROW(langevin({engine, seeds}, {1, 10, 11}), Error);
}

// The step of maximum-likelihood training: the samplers' own at T = 1, with a stream that goes on.
TEST(Langevin, AStepWithAStreamThatGoesOn) {
  const std::vector<float> start(1500, 0.25f), g(1500, 3.0f);
  RandomStream stream(1, Purpose::check);
  const RandomStream copy = stream;
  std::vector<float> x = start, same = start, again = start;
  EXPECT_TRUE(langevin_step(x, g, 0.1, stream));
  EXPECT_TRUE(drift_and_diffuse(same, g, -0.005f, 0.1f, copy));
  EXPECT_EQ(x, same);
  langevin_step(again, g, 0.1, stream);
  EXPECT_NE(again, x);
  std::vector<float> far(4, 2e6f);
  EXPECT_FALSE(langevin_step(far, std::vector<float>(4), 0.1, stream));
}

}  // namespace
}  // namespace mdsm::sample
