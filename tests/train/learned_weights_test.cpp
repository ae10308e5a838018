#include "train/learned_weights.h"

#include <gtest/gtest.h>

namespace mdsm::train {
namespace {

const std::vector<float> kFixed = {4, 2, 1};

TEST(LearnedWeights, AreTheFixedOnesBeforeTheFirstStep) {
  EXPECT_EQ(LearnedWeights().weights(kFixed), kFixed);
}

TEST(LearnedWeights, GiveEveryLevelTheSameShare) {
  LearnedWeights learned;
  const std::vector<float> residual = {0.5f, 3.0f, 40.0f};
  for (int step = 0; step < 300; ++step) learned.observe(residual);
  const std::vector<float> found = learned.weights(kFixed);
  double fixed_sum = 0;
  for (size_t i = 0; i < 3; ++i) fixed_sum += static_cast<double>(kFixed[i]) * residual[i];
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i] * residual[i], fixed_sum / 3, 1e-4 * fixed_sum);
}

TEST(LearnedWeights, FollowAnErrorThatFalls) {
  LearnedWeights learned;
  for (int step = 0; step < 50; ++step) learned.observe(std::vector<float>{1, 1, 1});
  const float before = learned.weights(kFixed)[0] / learned.weights(kFixed)[2];
  for (int step = 0; step < 400; ++step) learned.observe(std::vector<float>{0.1f, 1, 1});
  const float after = learned.weights(kFixed)[0] / learned.weights(kFixed)[2];
  EXPECT_NEAR(before, 1, 1e-5);
  EXPECT_NEAR(after, 10, 0.05);
}

TEST(LearnedWeights, GoOnFromWhatWasSaved) {
  LearnedWeights learned, resumed;
  for (float step = 1; step < 5; ++step) learned.observe(std::vector<float>{step, 2 * step, 1});
  resumed.restore({learned.averages().begin(), learned.averages().end()}, learned.steps());
  learned.observe(std::vector<float>{7, 1, 1});
  resumed.observe(std::vector<float>{7, 1, 1});
  EXPECT_EQ(learned.weights(kFixed), resumed.weights(kFixed));
}

// Nothing learnt from nothing: an error of 0 is no division by it.
TEST(LearnedWeights, AnErrorOfZeroIsFinite) {
  LearnedWeights learned;
  learned.observe(std::vector<float>{0, 1, 1});
  for (const float weight : learned.weights(kFixed)) EXPECT_TRUE(weight > 0 && weight < 1e12f);
}

}  // namespace
}  // namespace mdsm::train
