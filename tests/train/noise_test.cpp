#include "train/noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"

namespace mdsm::train {
namespace {

NoiseOptions options_of(NoiseKind kind, double low, double high) {
  NoiseOptions options;
  options.kind = kind;
  options.sigma_min = low;
  options.sigma_max = high;
  return options;
}

void expect_levels(const NoiseOptions& options, const std::vector<float>& wanted) {
  const auto levels = noise_levels(options, static_cast<int64_t>(wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(levels[i], wanted[i], 1e-6 * wanted[i]) << i;
}

TEST(NoiseLevels, AreNumpysGeomspaceAndLinspace) {
  expect_levels(options_of(NoiseKind::geometric, 0.1, 3),
                {0.1f, 0.19743505f, 0.38980598f, 0.76961363f, 1.51948705f, 3.f});
  expect_levels(options_of(NoiseKind::linear, 0.05, 1.2), {0.05f, 0.28f, 0.51f, 0.74f, 0.97f, 1.2f});
}

TEST(NoiseLevels, SingleAndBatchOfOne) {
  NoiseOptions single;
  single.kind = NoiseKind::single;
  single.sigma = 0.6;
  expect_levels(single, {0.6f, 0.6f, 0.6f});
  expect_levels(options_of(NoiseKind::geometric, 0.1, 3), {0.1f});
}

TEST(NoiseLevels, RefusesWhatMakesNoSense) {
  EXPECT_THROW(noise_levels(options_of(NoiseKind::linear, 2, 1), 4), Error);
}

TEST(ObjectiveWeights, AreTheMeanOfSigmaToTheMinusP) {
  const std::vector<float> levels = {0.5f, 2.0f};
  EXPECT_EQ(objective_weights(levels, 2), (std::vector<float>{2.0f, 0.125f}));
  EXPECT_EQ(objective_weights(levels, 0), (std::vector<float>{0.5f, 0.5f}));
}

TEST(NormalisedLoss, DividesEachResidualByItsOwnVariance) {
  const std::vector<float> residual = {1.0f, 8.0f}, levels = {0.5f, 2.0f};
  EXPECT_DOUBLE_EQ(normalised_loss(residual, levels), (4.0 + 2.0) / 2);
}

TEST(TrainingNoise, DependsOnSeedStepAndPlaceButNotOnThreads) {
  const Shape shape{6, 1, 8, 8};
  Tensor clean(shape, 0.25f), a(shape), b(shape);
  const auto levels = noise_levels(options_of(NoiseKind::geometric, 0.1, 3), 6);
  set_thread_count(1);
  add_training_noise(clean, levels, 5, 7, a);
  set_thread_count(3);
  add_training_noise(clean, levels, 5, 7, b);
  set_thread_count(0);
  EXPECT_TRUE(std::ranges::equal(a.values(), b.values()));

  std::vector<float> normal(64);
  RandomStream(5, Purpose::training_noise, 7 * 6 + 4).fill_normal(normal);
  for (size_t k = 0; k < 64; ++k) EXPECT_EQ(a.view().image(4)[k], 0.25f + levels[4] * normal[k]);
  add_training_noise(clean, levels, 5, 8, b);
  EXPECT_FALSE(std::ranges::equal(a.values(), b.values()));
}

}  // namespace
}  // namespace mdsm::train
