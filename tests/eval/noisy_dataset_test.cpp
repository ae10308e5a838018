#include "eval/noisy_dataset.h"

#include <gtest/gtest.h>

#include <cmath>

#include "eval/list_dataset.h"
#include "eval/mean.h"

namespace mdsm::test {
namespace {

std::shared_ptr<const data::Dataset> grey_images(int64_t n) {
  return std::make_shared<ListDataset>(Tensor({n, 1, 32, 32}, 0.5f));
}

// What is added to image `index`.
std::vector<float> noise_of(const eval::ImageNoise& noise, int64_t index) {
  const eval::NoisyDataset data(grey_images(3), noise);
  std::vector<float> image(32 * 32);
  data.read(index, image);
  for (float& value : image) value -= 0.5f;
  return image;
}

TEST(NoisyDataset, NoiseHasTheScaleAskedFor) {
  for (const double sigma : {0.1, 0.7}) {
    const eval::Mean found = eval::mean_of(noise_of({.sigma = sigma, .seed = 4}, 1));
    EXPECT_NEAR(found.mean, 0, 4 * found.error);
    EXPECT_NEAR(found.std, sigma, 4 * sigma / std::sqrt(2 * 1024.0));
  }
}

TEST(NoisyDataset, DequantisationFillsOneGreyLevel) {
  const auto added = noise_of({.dequantise = true, .seed = 4}, 0);
  const auto [low, high] = std::ranges::minmax(added);
  EXPECT_GE(low, -0.5f / 255 - 1e-7f);
  EXPECT_LE(high, 0.5f / 255 + 1e-7f);
  EXPECT_LT(low, -0.49f / 255);
  EXPECT_GT(high, 0.49f / 255);
  EXPECT_NEAR(eval::mean_of(added).std, 1 / std::sqrt(12.0) / 255, 1e-4);
}

TEST(NoisyDataset, SeedAndImageNameTheNoise) {
  const eval::ImageNoise noise{.sigma = 0.1, .dequantise = true, .seed = 4};
  EXPECT_EQ(noise_of(noise, 1), noise_of(noise, 1));
  EXPECT_NE(noise_of(noise, 1), noise_of(noise, 2));
  EXPECT_NE(noise_of(noise, 1), noise_of({.sigma = 0.1, .dequantise = true, .seed = 5}, 1));
  EXPECT_EQ(noise_of({}, 1), std::vector<float>(1024, 0.0f));
  EXPECT_EQ(eval::NoisyDataset(grey_images(3), noise).description(),
            "a list, uniform noise of one grey level, Gaussian noise of 0.1");
}

}  // namespace
}  // namespace mdsm::test
