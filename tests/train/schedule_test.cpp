#include "train/schedule.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace mdsm::train {
namespace {

RateOptions schedule(RateKind kind, int64_t warmup = 0) {
  RateOptions options;
  options.kind = kind;
  options.lr = 1e-3;
  options.lr_final = 1e-6;
  options.steps = 2400;
  options.warmup = warmup;
  return options;
}

TEST(LearningRate, CosineGoesFromStartOverTheMiddleToTheEnd) {
  EXPECT_DOUBLE_EQ(learning_rate(schedule(RateKind::cosine), 0), 1e-3);
  EXPECT_NEAR(learning_rate(schedule(RateKind::cosine), 1200), (1e-3 + 1e-6) / 2, 1e-12);
  EXPECT_NEAR(learning_rate(schedule(RateKind::cosine), 800), 1e-6 + (1e-3 - 1e-6) * 0.75, 1e-12);
  EXPECT_NEAR(learning_rate(schedule(RateKind::cosine), 2400), 1e-6, 1e-15);
}

TEST(LearningRate, CosineCanBeginLater) {
  RateOptions options = schedule(RateKind::cosine, 10);
  options.hold = 1200;
  EXPECT_NEAR(learning_rate(options, 4), 5e-4, 1e-16);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1200), 1e-3);
  EXPECT_NEAR(learning_rate(options, 1800), (1e-3 + 1e-6) / 2, 1e-12);
  EXPECT_NEAR(learning_rate(options, 2400), 1e-6, 1e-15);
  options.hold = 2400;
  EXPECT_THROW(validate(options), Error);
  options.hold = 10;
  options.kind = RateKind::constant;
  EXPECT_THROW(validate(options), Error);
}

TEST(LearningRate, StepDividesByTenAfterEverySixth) {
  EXPECT_DOUBLE_EQ(learning_rate(schedule(RateKind::step), 399), 1e-3);
  EXPECT_NEAR(learning_rate(schedule(RateKind::step), 400), 1e-4, 1e-16);
  EXPECT_NEAR(learning_rate(schedule(RateKind::step), 2399), 1e-8, 1e-20);
}

TEST(LearningRate, WarmupIsLinearAndMeetsTheSchedule) {
  EXPECT_NEAR(learning_rate(schedule(RateKind::constant, 10), 0), 1e-4, 1e-16);
  EXPECT_NEAR(learning_rate(schedule(RateKind::constant, 10), 4), 5e-4, 1e-16);
  EXPECT_DOUBLE_EQ(learning_rate(schedule(RateKind::constant, 10), 9), 1e-3);
  EXPECT_DOUBLE_EQ(learning_rate(schedule(RateKind::constant, 10), 2000), 1e-3);
}

TEST(LearningRate, RefusesARisingCosine) {
  RateOptions options = schedule(RateKind::cosine);
  options.lr_final = 1;
  EXPECT_THROW(validate(options), Error);
}

TEST(EmaDecay, IsShortAtFirst) {
  EXPECT_DOUBLE_EQ(ema_decay(0.999, 0), 0.1);
  EXPECT_DOUBLE_EQ(ema_decay(0.999, 90), 0.91);
  EXPECT_DOUBLE_EQ(ema_decay(0.999, 100'000), 0.999);
  EXPECT_DOUBLE_EQ(ema_decay(0, 5), 0);
}

}  // namespace
}  // namespace mdsm::train
