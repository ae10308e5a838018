// Rareness among good images, and several such numbers as one.
#include "eval/surprise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"

namespace mdsm::test {
namespace {

using eval::joint_surprise;
using eval::surprise;

TEST(Surprise, CountsBelowTheTailAndExtrapolatesBeyondIt) {
  std::vector<float> usual(100);
  for (size_t i = 0; i < usual.size(); ++i) usual[i] = static_cast<float>(i);
  EXPECT_EQ(surprise(usual, -1), 0);
  EXPECT_DOUBLE_EQ(surprise(usual, 50), std::log(101.0 / 51));    // 50, ..., 99 and the value itself
  EXPECT_DOUBLE_EQ(surprise(usual, 49.5), std::log(101.0 / 51));  // between two of them
  // The tail: 90, ..., 99, by 4.5 on average.
  EXPECT_DOUBLE_EQ(surprise(usual, 90 + 9), std::log(101.0 / 10) + 2);
  EXPECT_DOUBLE_EQ(surprise(usual, 90 + 4500), std::log(101.0 / 10) + 1000);
  double last = -1;
  for (double value = -2; value < 120; value += 0.25) {
    const double now = surprise(usual, value);
    EXPECT_GE(now, last) << value;
    last = now;
  }
}

TEST(Surprise, FewOrEqualValuesGiveFiniteNumbers) {
  EXPECT_TRUE(std::isfinite(surprise(std::vector<float>{1}, 5)));
  EXPECT_EQ(surprise(std::vector<float>{1}, 0), 0);
  EXPECT_GT(surprise(std::vector<float>(20, 1.0f), 2), surprise(std::vector<float>(20, 1.0f), 1));
}

// Of an exponential distribution, the surprise is the value itself.
TEST(Surprise, IsRightForAnExponentialDistribution) {
  RandomStream stream(3, Purpose::shuffle, 0);
  std::vector<float> usual(20000);
  for (float& one : usual) one = static_cast<float>(-std::log(1 - stream.uniform()));
  std::ranges::sort(usual);
  for (const double value : {0.1, 1.0, 2.0, 4.0, 8.0})
    EXPECT_NEAR(surprise(usual, value), value, 0.05 * value + 0.01);
}

TEST(Surprise, JoinedIsAPowerMean) {
  const std::vector<double> weights = {1, 1, 2};
  EXPECT_DOUBLE_EQ(joint_surprise(std::vector<double>{3, 3, 3}, weights), 3);
  EXPECT_DOUBLE_EQ(joint_surprise(std::vector<double>{4, 0, 0}, weights), std::pow(8.0 / 4, 2.0 / 3));
  EXPECT_DOUBLE_EQ(joint_surprise(std::vector<double>{0, 0, 4}, weights), std::pow(16.0 / 4, 2.0 / 3));
}

}  // namespace
}  // namespace mdsm::test
