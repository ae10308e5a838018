#include "data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace mdsm::data {
namespace {

constexpr Shape kShape{1, 2, 9, 12};

std::vector<float> made() {
  std::vector<float> image(static_cast<size_t>(kShape.per_image()));
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 89) / 100.0f;
  return image;
}

std::vector<float> changed(const AugmentOptions& options, uint64_t place, uint64_t seed = 3) {
  std::vector<float> image = made();
  augment(image, kShape, options, seed, place);
  return image;
}

float at(const std::vector<float>& image, int64_t c, int64_t y, int64_t x) {
  y = std::clamp<int64_t>(y, 0, kShape.h - 1), x = std::clamp<int64_t>(x, 0, kShape.w - 1);
  return image[static_cast<size_t>((c * kShape.h + y) * kShape.w + x)];
}

TEST(Augment, TheSameSeedAndPlaceGiveTheSame) {
  const AugmentOptions all{true, 2, 0.2, 10, 0.3};
  EXPECT_EQ(changed(all, 5), changed(all, 5));
  EXPECT_NE(changed(all, 5), changed(all, 6));
  EXPECT_NE(changed(all, 5), changed(all, 5, 4));
  EXPECT_EQ(changed({}, 5), made());
}

// Whole pixels: no value is new, and the edge is repeated.
TEST(Augment, ShiftsAreExactAndOfAllKinds) {
  const std::vector<float> before = made();
  std::set<std::pair<int64_t, int64_t>> seen;
  for (uint64_t place = 0; place < 200; ++place) {
    const std::vector<float> after = changed({.shift = 1}, place);
    for (int64_t dy = -1; dy <= 1; ++dy)
      for (int64_t dx = -1; dx <= 1; ++dx) {
        bool same = true;
        for (int64_t c = 0; c < 2; ++c)
          for (int64_t y = 0; y < kShape.h; ++y)
            for (int64_t x = 0; x < kShape.w; ++x)
              same &= at(after, c, y, x) == at(before, c, y + dy, x + dx);
        if (same) seen.insert({dy, dx});
      }
  }
  EXPECT_EQ(seen.size(), 9u);
}

TEST(Augment, BrightnessScalesAllValuesAlike) {
  double low = 2, high = 0;
  for (uint64_t place = 0; place < 300; ++place) {
    const std::vector<float> after = changed({.brightness = 0.1}, place), before = made();
    const double factor = after[50] / before[50];
    low = std::min(low, factor), high = std::max(high, factor);
    for (size_t i = 0; i < after.size(); ++i) ASSERT_NEAR(after[i], std::min(1.0, factor * before[i]), 1e-6);
  }
  EXPECT_NEAR(low, 0.9, 0.01);
  EXPECT_NEAR(high, 1.1, 0.01);
}

// On a ramp v = a x + b y every motion has a value that can be worked out, and the middle stays.
TEST(Augment, TurnsAndZoomsAboutTheMiddle) {
  constexpr Shape shape{1, 1, 33, 33};
  for (uint64_t place = 0; place < 50; ++place) {
    std::vector<float> ramp;
    for (int64_t y = 0; y < 33; ++y)
      for (int64_t x = 0; x < 33; ++x) ramp.push_back(0.5f + 0.01f * static_cast<float>(x - 16));
    augment(ramp, shape, {.zoom = 0.3, .rotate = 20}, 1, place);
    const auto value = [&](int64_t y, int64_t x) { return ramp[static_cast<size_t>(y * 33 + x)]; };
    EXPECT_NEAR(value(16, 16), 0.5f, 1e-6);
    const double along = (value(16, 20) - value(16, 12)) / 8 / 0.01;   // scale times cosine of the angle
    const double across = (value(20, 16) - value(12, 16)) / 8 / 0.01;  // scale times its sine
    const double scale = std::hypot(along, across), angle = std::atan2(across, along) * 180 / 3.14159265;
    EXPECT_GE(scale, 0.7 - 1e-4);
    EXPECT_LE(scale, 1 + 1e-4);
    EXPECT_LE(std::abs(angle), 20.01);
  }
}

}  // namespace
}  // namespace mdsm::data
