#include "eval/spectrum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/random.h"

namespace mdsm::eval {
namespace {

TEST(Spectrum, SplitsTheSquaresOfAMap) {
  for (const Shape& shape : {Shape{1, 3, 32, 32}, Shape{1, 1, 32, 32}}) {
    const Spectrum spectrum(shape);
    ASSERT_EQ(spectrum.columns(), 8u * static_cast<size_t>(shape.c));
    std::vector<float> map(static_cast<size_t>(shape.per_image()));
    RandomStream(1, Purpose::check).fill_normal(map);
    const auto found = spectrum.energies(map);
    for (size_t i = 0; i < found.size(); ++i) {  // white noise has as much everywhere
      if (i % 8 > 3) {
        EXPECT_NEAR(found[i], 1, 0.5) << i;
      }
    }
  }
}

TEST(Spectrum, FindsFrequencyAndColour) {
  const Spectrum spectrum({1, 3, 32, 32});
  std::vector<float> map(3 * 32 * 32);
  for (size_t i = 0; i < map.size(); ++i)  // 12 half periods across, red against green
    map[i] = (i / 1024 == 0   ? 1.0f
              : i / 1024 == 1 ? -1.0f
                              : 0.0f) *
             static_cast<float>(std::cos(std::numbers::pi * (static_cast<double>(i % 32) + 0.5) * 12 / 32));
  const auto found = spectrum.energies(map);
  const auto largest = static_cast<size_t>(std::ranges::max_element(found) - found.begin());
  EXPECT_EQ(largest, 8u + 4u);  // the second axis, 9 to 14
  EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), found[largest], 1e-6 * found[largest]);
  std::ranges::fill(map, 0.5f);
  const auto grey = spectrum.energies(map);
  EXPECT_NEAR(grey[0], 3 * 0.25 * 1024, 1e-3);  // all of it is the mean of the brightness
  EXPECT_NEAR(std::accumulate(grey.begin(), grey.end(), 0.0), grey[0], 1e-6);
}

TEST(Spectrum, SmallImagesHaveFewerBands) {
  const Spectrum spectrum({1, 1, 4, 4});
  EXPECT_LT(spectrum.columns(), 8u);
  EXPECT_GT(spectrum.columns(), 1u);
}

}  // namespace
}  // namespace mdsm::eval
