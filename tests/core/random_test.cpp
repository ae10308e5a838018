#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace mdsm {
namespace {

TEST(RandomStream, SameNameGivesSameValues) {
  std::vector<float> a(1001), b(1001);
  RandomStream(7, Purpose::training_noise, 3).fill_normal(a);
  RandomStream(7, Purpose::training_noise, 3).fill_normal(b);
  EXPECT_EQ(a, b);
}

TEST(RandomStream, SeedPurposeAndIndexAllMatter) {
  const auto first = [](uint64_t seed, Purpose purpose, uint64_t index) {
    return RandomStream(seed, purpose, index).bits();
  };
  const uint32_t base = first(1, Purpose::shuffle, 0);
  EXPECT_NE(base, first(2, Purpose::shuffle, 0));
  EXPECT_NE(base, first(1ull << 32, Purpose::shuffle, 0));
  EXPECT_NE(base, first(1, Purpose::flip, 0));
  EXPECT_NE(base, first(1, Purpose::shuffle, 1));
  EXPECT_NE(base, first(1, Purpose::shuffle, 1ull << 32));
}

TEST(RandomStream, NormalsHaveTheRightMoments) {
  std::vector<float> values(400000);
  RandomStream(0, Purpose::check).fill_normal(values);
  double m1 = 0, m2 = 0, m4 = 0, lag = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    m1 += v, m2 += v * v, m4 += v * v * v * v;
    if (i > 0) lag += v * values[i - 1];
  }
  const double n = static_cast<double>(values.size());
  EXPECT_NEAR(m1 / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(m2 / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(m4 / n, 3, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(lag / n, 0, 5 / std::sqrt(n));
}

TEST(RandomStream, NormalsHaveTheRightDistribution) {
  std::vector<float> values(1000000);
  RandomStream(1, Purpose::check).fill_normal(values);
  const double n = static_cast<double>(values.size());
  for (const double at : {-4.0, -3.0, -1.5, -0.5, 0.0, 0.1, 1.0, 2.5, 3.5}) {
    const double p = 0.5 * std::erfc(-at / std::sqrt(2.0));
    const auto below = std::count_if(values.begin(), values.end(), [&](float v) { return v < at; });
    EXPECT_NEAR(static_cast<double>(below) / n, p, 5 * std::sqrt(p * (1 - p) / n)) << at;
  }
}

TEST(RandomStream, FewerNormalsAreTheFirstOfMore) {
  std::vector<float> all(1000);
  RandomStream(2, Purpose::check).fill_normal(all);
  for (const size_t count : {1u, 2u, 63u, 64u, 65u, 999u}) {
    std::vector<float> some(count);
    RandomStream(2, Purpose::check).fill_normal(some);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << count;
  }
}

TEST(RandomStream, NormalsCanBeHadFromTheMiddle) {
  std::vector<float> all(1000);
  const RandomStream stream(2, Purpose::check);
  RandomStream(stream).fill_normal(all);
  for (const size_t first : {0u, 1u, 63u, 64u, 65u, 700u})
    for (const size_t count : {0u, 1u, 30u, 64u, 100u, 300u}) {
      std::vector<float> some(count);
      stream.normals_at(first, some);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + static_cast<int64_t>(first)))
          << first << " " << count;
    }
}

TEST(RandomStream, BelowIsUniform) {
  RandomStream stream(3, Purpose::check);
  std::vector<int> counts(10);
  for (int i = 0; i < 100000; ++i) ++counts[stream.below(10)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 5 * std::sqrt(9000.0));
}

TEST(Permutation, HoldsEveryIndexOnceAndDependsOnTheStream) {
  auto a = permutation(RandomStream(0, Purpose::shuffle, 0), 1000);
  const auto b = permutation(RandomStream(0, Purpose::shuffle, 1), 1000);
  EXPECT_NE(a, b);
  std::sort(a.begin(), a.end());
  for (uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(a[i], i);
}

}  // namespace
}  // namespace mdsm
