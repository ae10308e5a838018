#include "io/element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace mdsm::io {
namespace {

// The nearest half by search over all of them, ties to the even one: slow and plainly right.
uint16_t nearest_half(double value) {
  uint16_t best = 0;
  double best_distance = std::numeric_limits<double>::infinity();
  for (uint32_t h = 0; h <= 0x7c00; ++h) {
    // Infinity stands where the next finite number would be, as far as rounding goes.
    const double candidate = h == 0x7c00 ? 65536.0 : float_from_half(static_cast<uint16_t>(h));
    const double distance = std::abs(candidate - std::abs(value));
    if (distance < best_distance || (distance == best_distance && h % 2 == 0)) {
      best = static_cast<uint16_t>(h);
      best_distance = distance;
    }
  }
  return static_cast<uint16_t>(best | (std::signbit(value) ? 0x8000 : 0));
}

TEST(Half, KnownValues) {
  EXPECT_EQ(float_from_half(0x3c00), 1.0f);
  EXPECT_EQ(float_from_half(0xc000), -2.0f);
  EXPECT_EQ(float_from_half(0x7bff), 65504.0f);
  EXPECT_EQ(float_from_half(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(float_from_half(0x0400), std::ldexp(1.0f, -14));
  EXPECT_TRUE(std::isinf(float_from_half(0x7c00)));
  EXPECT_TRUE(std::isnan(float_from_half(0x7e01)));
  EXPECT_TRUE(std::signbit(float_from_half(0x8000)));
}

TEST(Half, EveryHalfComesBack) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float value = float_from_half(static_cast<uint16_t>(h));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(float_from_half(half_from_float(value))));
    else
      EXPECT_EQ(half_from_float(value), h);
  }
}

TEST(Half, RoundsToNearestEven) {
  std::vector<float> values = {
      1.0f + 1.0f / 2048,    1.0f + 3.0f / 2048,      65519.0f, 65520.0f, 1e30f, 0.1f, std::ldexp(1.0f, -25),
      std::ldexp(3.0f, -25), std::ldexp(1.0001f, -25)};
  uint32_t state = 1;
  for (int i = 0; i < 200; ++i) {  // halves, their midpoints and the floats beside those
    state = state * 1664525u + 1013904223u;
    const auto h = static_cast<uint16_t>((state >> 8) % 0x7bff);
    const float middle = (float_from_half(h) + float_from_half(static_cast<uint16_t>(h + 1))) / 2;
    values.insert(values.end(), {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)});
  }
  for (const float value : values) {
    EXPECT_EQ(half_from_float(value), nearest_half(value)) << value;
    EXPECT_EQ(half_from_float(-value), nearest_half(-value)) << -value;
  }
}

TEST(Element, ConvertsEveryType) {
  const auto convert = [](ElementType type, const auto& stored) {
    float value = 0;
    to_float(type, reinterpret_cast<const std::byte*>(&stored), std::span(&value, 1));
    EXPECT_EQ(bytes_of(type), sizeof stored);
    return value;
  };
  EXPECT_EQ(convert(ElementType::float32, 1.5f), 1.5f);
  EXPECT_EQ(convert(ElementType::float64, 1.25), 1.25f);
  EXPECT_EQ(convert(ElementType::float16, uint16_t{0x3e00}), 1.5f);
  EXPECT_EQ(convert(ElementType::bfloat16, uint16_t{0xbfc0}), -1.5f);
  EXPECT_EQ(convert(ElementType::int64, int64_t{-3}), -3.0f);
}

}  // namespace
}  // namespace mdsm::io
