#include "sample/diagnostics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/random.h"

namespace mdsm::sample {
namespace {

// Autoregressive chains x' = r x + sqrt(1 - r²) n: variance 1, and n (1 - r)/(1 + r) effective draws.
std::vector<float> chains_of(double r, int64_t chains, int64_t draws, uint64_t seed) {
  std::vector<float> noise(static_cast<size_t>(chains * draws)), values(noise.size());
  RandomStream(seed, Purpose::check).fill_normal(noise);
  const size_t m = static_cast<size_t>(chains);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i < m ? noise[i] : static_cast<float>(r * values[i - m] + std::sqrt(1 - r * r) * noise[i]);
  return values;
}

TEST(Diagnostics, CountsIndependentDrawsAsSuch) {
  const auto d = diagnose(chains_of(0, 8, 1000, 1), 8);
  EXPECT_EQ(d.chains, 8);
  EXPECT_EQ(d.draws, 1000);
  EXPECT_NEAR(d.ess, 8000, 800);
  EXPECT_NEAR(d.r_hat, 1, 0.01);
  EXPECT_NEAR(d.variance, 1, 0.1);
  EXPECT_NEAR(d.mean, 0, 5 * d.standard_error());
}

TEST(Diagnostics, KnowsTheEffectiveSizeOfCorrelatedChains) {
  for (const double r : {0.5, 0.9, -0.4}) {
    const auto d = diagnose(chains_of(r, 16, 4000, 2), 16);
    EXPECT_NEAR(d.ess / (16 * 4000 * (1 - r) / (1 + r)), 1, 0.15) << r;
    EXPECT_NEAR(d.r_hat, 1, 0.02);
  }
}

TEST(Diagnostics, SeesAChainThatIsElsewhere) {
  auto values = chains_of(0.5, 4, 500, 3);
  for (size_t i = 0; i < values.size(); i += 4) values[i] += 3;
  EXPECT_GT(diagnose(values, 4).r_hat, 1.3);
}

TEST(Diagnostics, SeesADriftThatAllChainsShare) {
  auto values = chains_of(0.5, 4, 500, 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] += static_cast<float>(i) * 0.002f;
  EXPECT_GT(diagnose(values, 4).r_hat, 1.2);
}

TEST(Diagnostics, HasNothingToSayAboutTooLittle) {
  EXPECT_TRUE(std::isnan(diagnose(std::vector<float>(6), 2).r_hat));
  const auto stuck = diagnose(std::vector<float>(200, 1.0f), 2);
  EXPECT_EQ(stuck.ess, 1);
  EXPECT_TRUE(std::isnan(stuck.r_hat));
  EXPECT_THROW(diagnose(std::vector<float>(7), 2), Error);
}

}  // namespace
}  // namespace mdsm::sample
