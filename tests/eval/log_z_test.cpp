#include "eval/log_z.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "temporary_folder.h"

namespace mdsm::eval {
namespace {

TEST(LogZ, EqualWeightsAreCertain) {
  const std::vector<double> logs(10, -123.5);
  for (const Direction direction : {Direction::forward, Direction::reverse}) {
    const LogZ z = estimate_log_z(logs, direction);
    EXPECT_DOUBLE_EQ(z.bound, -123.5);
    EXPECT_DOUBLE_EQ(z.estimate, -123.5);
    EXPECT_NEAR(z.ess, 10, 1e-9);
    EXPECT_NEAR(z.estimate_error, 0, 1e-9);
    EXPECT_NEAR(z.bound_error, 0, 1e-9);
  }
}

// Weights 1 and 3: mean 2, (1+3)²/(1+9) effective; backwards those of 1 and 1/3.
TEST(LogZ, TwoWeightsByHand) {
  const std::vector<double> logs{0, std::log(3.0)};
  const LogZ forward = estimate_log_z(logs, Direction::forward);
  EXPECT_NEAR(forward.estimate, std::log(2.0), 1e-12);
  EXPECT_NEAR(forward.bound, std::log(3.0) / 2, 1e-12);
  EXPECT_NEAR(forward.bound_error, std::log(3.0) / 2, 1e-12);
  EXPECT_NEAR(forward.ess, 1.6, 1e-12);
  EXPECT_NEAR(forward.estimate_error, 0.5, 1e-12);  // sd sqrt(2), over sqrt(2), over the mean 2
  const LogZ reverse = estimate_log_z(logs, Direction::reverse);
  EXPECT_NEAR(reverse.estimate, -std::log(2.0 / 3), 1e-12);
  EXPECT_NEAR(reverse.ess, 1.6, 1e-12);
  EXPECT_LT(forward.bound, forward.estimate);
  EXPECT_GT(reverse.bound, reverse.estimate);
}

TEST(LogZ, OneChainHasNoError) {
  const LogZ z = estimate_log_z(std::vector<double>{-3}, Direction::forward);
  EXPECT_EQ(z.bound, -3);
  EXPECT_EQ(z.estimate, -3);
  EXPECT_TRUE(std::isnan(z.bound_error) && std::isnan(z.estimate_error) && std::isnan(z.std));
}

// A uniform density over [0,1]^D has 0 bits a dimension there and 8 (nearly) over 256 grey levels.
TEST(LogZ, BothPixelConventions) {
  EXPECT_DOUBLE_EQ(bits_per_dim(0, 784).unit, 0);
  EXPECT_NEAR(bits_per_dim(0, 784).byte, 7.99435, 1e-5);
  EXPECT_NEAR(bits_per_dim(-784 * std::log(2.0), 784).unit, 1, 1e-12);
}

TEST(LogZ, NoChainsIsAnError) { EXPECT_ERROR(estimate_log_z({}, Direction::forward), "no chains"); }

}  // namespace
}  // namespace mdsm::eval
