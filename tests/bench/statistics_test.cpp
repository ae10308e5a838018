#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace mdsm::bench {
namespace {

Spread of(std::vector<double> values) { return spread(values); }

TEST(Statistics, MedianOfOddNumberIsTheMiddleOne) {
  const Spread s = of({5, 1, 3});
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 5);
  EXPECT_EQ(s.count, 3);
}

TEST(Statistics, MedianOfEvenNumberIsBetweenTheMiddleTwo) { EXPECT_EQ(of({10, 1, 2, 4}).median, 3); }

TEST(Statistics, OneOutlierMovesTheMedianLittle) { EXPECT_EQ(of({1, 1.1, 1.2, 1.3, 1000}).median, 1.2); }

TEST(Statistics, OneValueIsAllThree) {
  const Spread s = of({7});
  EXPECT_EQ(s.median, 7);
  EXPECT_EQ(s.min, 7);
  EXPECT_EQ(s.max, 7);
}

TEST(Statistics, NothingGivesZeros) {
  const Spread s = of({});
  EXPECT_EQ(s.count, 0);
  EXPECT_EQ(s.median, 0);
}

}  // namespace
}  // namespace mdsm::bench
