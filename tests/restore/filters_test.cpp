#include "restore/filters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/random.h"
#include "restore/denoise.h"

namespace mdsm::restore {
namespace {

Tensor image_of(int64_t height, int64_t width, const std::vector<float>& values) {
  Tensor x({1, 1, height, width});
  std::ranges::copy(values, x.data());
  return x;
}

Tensor noise(const Shape& shape) {
  Tensor x(shape);
  RandomStream(3, Purpose::check).fill_normal(x.values());
  return x;
}

// The value at (y, x) with mirrored edges, found by walking back and forth.
float at(ConstTensorView x, int64_t plane, int64_t row, int64_t column) {
  const auto inside = [](int64_t i, int64_t n) {
    while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
  };
  return x.data[(plane * x.shape.h + inside(row, x.shape.h)) * x.shape.w + inside(column, x.shape.w)];
}

TEST(MedianFilter, IsTheMiddleOfTheWindowWithMirroredEdges) {
  const Tensor x = image_of(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  // Corner: 1 1 2, 1 1 2, 4 4 5. Upper edge: 1 2 3, 1 2 3, 4 5 6.
  const std::vector<float> expected = {2, 3, 3, 4, 5, 6, 7, 7, 8};
  EXPECT_TRUE(std::ranges::equal(median_filter(x, 3).values(), expected));
  EXPECT_TRUE(std::ranges::equal(median_filter(x, 1).values(), x.values()));
}

TEST(MedianFilter, MatchesSortingAtEveryPixelOfEveryChannel) {
  const Tensor x = noise({2, 3, 5, 7});
  for (const int64_t size : {3, 5, 15}) {
    const Tensor found = median_filter(x, size);
    for (int64_t i = 0; i < x.shape().count(); ++i) {
      std::vector<float> window;
      for (int64_t dy = -size / 2; dy <= size / 2; ++dy)
        for (int64_t dx = -size / 2; dx <= size / 2; ++dx)
          window.push_back(at(x, i / 35, i % 35 / 7 + dy, i % 7 + dx));
      std::ranges::sort(window);
      EXPECT_EQ(found.data()[i], window[window.size() / 2]) << size << " " << i;
    }
  }
}

TEST(GaussianFilter, MatchesTheSumOverAllNeighbours) {
  const Tensor x = noise({2, 2, 5, 7});
  for (const double width : {0.5, 1.3, 4.0}) {
    const Tensor found = gaussian_filter(x, width);
    const auto radius = static_cast<int64_t>(std::ceil(4 * width));
    for (int64_t i = 0; i < x.shape().count(); ++i) {
      double sum = 0, weights = 0;
      for (int64_t dy = -radius; dy <= radius; ++dy)
        for (int64_t dx = -radius; dx <= radius; ++dx) {
          const double weight = std::exp(-static_cast<double>(dx * dx + dy * dy) / (2 * width * width));
          sum += weight * at(x, i / 35, i % 35 / 7 + dy, i % 7 + dx);
          weights += weight;
        }
      EXPECT_NEAR(found.data()[i], sum / weights, 1e-5) << width << " " << i;
    }
  }
}

TEST(GaussianFilter, KeepsBrightnessAndSpreadsAPointByItsWidth) {
  Tensor x({1, 1, 31, 33});
  x.data()[15 * 33 + 16] = 1;
  const Tensor found = gaussian_filter(x, 1.5);
  double sum = 0, across = 0, down = 0;
  for (int64_t i = 0; i < 31 * 33; ++i) {
    sum += found.data()[i];
    across += found.data()[i] * std::pow(static_cast<double>(i % 33 - 16), 2);
    down += found.data()[i] * std::pow(static_cast<double>(i / 33 - 15), 2);
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_NEAR(across, 1.5 * 1.5, 0.01);
  EXPECT_NEAR(down, 1.5 * 1.5, 0.01);
  const Tensor grey = gaussian_filter(Tensor({1, 1, 4, 4}, 0.7f), 6);
  for (const float value : grey.values()) EXPECT_NEAR(value, 0.7f, 1e-6);
}

TEST(Filters, RefuseSizesThatMakeNoSense) {
  const Tensor x({1, 1, 4, 4});
  for (const int64_t size : {-1, 0, 2, 4, 33}) EXPECT_THROW(median_filter(x, size), Error) << size;
  for (const double width : {-1.0, 0.0, 100.0, std::nan("")})
    EXPECT_THROW(gaussian_filter(x, width), Error) << width;
}

// A square on black under noise: strong noise asks for more smoothing than weak noise.
TEST(Filters, TheBestSettingIsTheOneWithTheHighestMean) {
  Tensor truth({4, 1, 32, 32});
  for (int64_t i = 0; i < truth.shape().count(); ++i)
    truth.data()[i] = i % 1024 / 32 / 16 == 1 && i % 32 / 16 == 1 ? 0.8f : 0.1f;
  double last = 0;
  for (const float sigma : {0.05f, 0.3f, 1.0f}) {
    Tensor noisy = noise(truth.shape());
    for (int64_t i = 0; i < noisy.shape().count(); ++i)
      noisy.data()[i] = truth.data()[i] + sigma * noisy.data()[i];
    const std::span<const Tensor> given(&noisy, 1), wanted(&truth, 1);
    const FilterResult gaussian = best_gaussian(given, wanted), median = best_median(given, wanted);
    EXPECT_GT(gaussian.setting, last);
    last = gaussian.setting;
    for (const FilterResult* one : {&gaussian, &median}) {
      EXPECT_EQ(one->psnr, psnr(one->x[0], truth));
      EXPECT_NEAR(one->mean_psnr, std::accumulate(one->psnr.begin(), one->psnr.end(), 0.0) / 4, 1e-9);
      EXPECT_GE(*std::ranges::min_element(one->x[0].values()), 0);
      EXPECT_LE(*std::ranges::max_element(one->x[0].values()), 1);
    }
    const auto mean_of = [&](Tensor x) {
      for (float& value : x.values()) value = std::clamp(value, 0.0f, 1.0f);
      const auto all = psnr(x, truth);
      return std::accumulate(all.begin(), all.end(), 0.0) / 4;
    };
    for (const double width : kGaussianWidths)
      EXPECT_LE(mean_of(gaussian_filter(noisy, width)), gaussian.mean_psnr + 1e-9) << width;
    for (const double size : kMedianSizes)
      EXPECT_LE(mean_of(median_filter(noisy, static_cast<int64_t>(size))), median.mean_psnr + 1e-9) << size;
  }
}

}  // namespace
}  // namespace mdsm::restore
