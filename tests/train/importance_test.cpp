#include "train/importance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "train/noise.h"

namespace mdsm::train {
namespace {

Tensor pixels(std::initializer_list<float> values) {
  Tensor images({static_cast<int64_t>(values.size()), 1, 1, 1});
  std::ranges::copy(values, images.values().begin());
  return images;
}

// Two images of one pixel, 0 and 1, levels 0.5 and 2, sigma0 = 0.25. By hand, with N(d; s) = exp(-d²/2s²)/s:
// x~ = 0.9 made from 0: q_sigma0(0|x~) = N(0.9; 0.25) / (N(0.9; 0.25) + N(0.1; 0.25)) = 0.00165956,
// q_M(0|x~) = (N(0.9; 0.5) + N(0.9; 2)) / (the same of 0.9 and 0.1) = 0.256404, their ratio 0.00647243;
// x~ = 0.6 made from 1: ratio 1.45376. Divided by their mean: 0.0088649 and 1.9911351.
TEST(Importance, WeightsOfTwoPixelsAreThoseComputedByHand) {
  const std::vector<float> levels = {0.5f, 2.0f};
  const auto weights = importance_weights(pixels({0, 1}), pixels({0.9f, 0.6f}), levels, 0.25);
  EXPECT_NEAR(weights[0], 0.008864900441570258, 1e-7);
  EXPECT_NEAR(weights[1], 1.9911350995584298, 1e-7);
  EXPECT_NEAR(effective_share(weights), 4.0 / (2 * (weights[0] * weights[0] + weights[1] * weights[1])),
              1e-12);

  const auto other = importance_weights(pixels({0, 1}), pixels({0.2f, 0.6f}), levels, 0.25);
  EXPECT_NEAR(other[0], 0.9891251349212666, 1e-6);
  EXPECT_NEAR(other[1], 1.0108748650787334, 1e-6);
}

// With the kernel's own level alone, both posteriors are the same.
TEST(Importance, IsOneWhenTheMixtureIsTheKernel) {
  Tensor clean({6, 1, 4, 4}), noisy({6, 1, 4, 4});
  RandomStream(1, Purpose::check).fill_uniform(clean.values(), 0, 1);
  const std::vector<float> levels(6, 0.5f);
  add_training_noise(clean, levels, 3, 0, noisy);
  for (const double w : importance_weights(clean, noisy, levels, 0.5)) EXPECT_NEAR(w, 1, 1e-9);
  double moved = 0;
  for (const double w : importance_weights(clean, noisy, levels, 0.1))
    moved = std::max(moved, std::abs(w - 1));
  EXPECT_GT(moved, 0.1);
}

TEST(Importance, MixtureLeavesOutNothingThatCounts) {
  NoiseOptions options;
  const std::vector<float> levels = noise_levels(options, 128);
  for (const double dimensions : {1.0, 64.0, 3072.0})
    for (const double sigma : {0.01, 0.1, 0.37, 2.0, 3.0, 9.0}) {
      const double squared = dimensions * sigma * sigma;
      long double sum = 0;
      for (const float level : levels) {
        const auto s = static_cast<long double>(level);
        sum += std::exp(-static_cast<long double>(dimensions) * std::log(s) -
                        static_cast<long double>(squared) / (2 * s * s));
      }
      const auto expected = static_cast<double>(std::log(sum / static_cast<long double>(levels.size())));
      EXPECT_NEAR(log_mixture(squared, dimensions, levels), expected,
                  1e-9 * std::max(1.0, std::abs(expected)))
          << dimensions << " " << sigma;
    }
}

TEST(Importance, EffectiveShare) {
  EXPECT_EQ(effective_share(std::vector<double>{2, 2, 2, 2}), 1);
  EXPECT_EQ(effective_share(std::vector<double>{0, 0, 4, 0}), 0.25);
  EXPECT_EQ(effective_share(std::vector<double>{0, 0}), 0);
}

}  // namespace
}  // namespace mdsm::train
