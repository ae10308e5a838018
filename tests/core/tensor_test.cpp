#include "core/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/error.h"

namespace mdsm {
namespace {

bool aligned(const float* data) { return reinterpret_cast<uintptr_t>(data) % 64 == 0; }

TEST(Shape, CountsAndText) {
  const Shape shape{128, 3, 32, 16};
  EXPECT_EQ(shape.per_image(), 3 * 32 * 16);
  EXPECT_EQ(shape.count(), 128 * 3 * 32 * 16);
  EXPECT_EQ(shape.text(), "128x3x32x16");
  EXPECT_EQ(shape.with_n(2), (Shape{2, 3, 32, 16}));
}

TEST(Shape, CountsBeyond32Bits) { EXPECT_EQ((Shape{1 << 20, 64, 64, 64}).count(), int64_t{1} << 38); }

TEST(FloatBuffer, IsAlignedAtEverySize) {
  for (const size_t count : {1, 3, 15, 16, 17, 1000, 4097}) {
    FloatBuffer buffer(count);
    EXPECT_TRUE(aligned(buffer.data())) << count;
    EXPECT_EQ(buffer.span().size(), count);
    buffer.span()[count - 1] = 1;  // the sanitizer checks that the last value is inside
  }
}

TEST(FloatBuffer, EmptyIsFine) {
  EXPECT_EQ(FloatBuffer(0).size(), 0u);
  EXPECT_TRUE(FloatBuffer().span().empty());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the program instead
TEST(FloatBuffer, TooMuchMemoryIsAnErrorWithTheAmount) {
  try {
    FloatBuffer buffer(size_t{1} << 58);
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::failure);
    EXPECT_NE(error.message().find("1073741824.00 GiB"), std::string::npos) << error.message();
  }
}
#endif

TEST(Tensor, IsFilledAndAligned) {
  const Tensor tensor({2, 3, 5, 7}, 0.25f);
  EXPECT_TRUE(aligned(tensor.data()));
  EXPECT_EQ(tensor.values().size(), 210u);
  for (const float value : tensor.values()) EXPECT_EQ(value, 0.25f);
}

TEST(Tensor, ImagesAreSlicesOfTheSameMemory) {
  Tensor tensor({4, 1, 2, 3});
  tensor.view().image(2)[1] = 7;
  EXPECT_EQ(tensor.values()[2 * 6 + 1], 7);
  const TensorView pair = tensor.view().images(2, 2);
  EXPECT_EQ(pair.shape, (Shape{2, 1, 2, 3}));
  EXPECT_EQ(pair.image(0)[1], 7);
  const ConstTensorView seen = tensor;
  EXPECT_EQ(seen.images(1, 3).image(1)[1], 7);
}

TEST(Tensor, KeepsItsValuesWhenMoved) {
  Tensor first({1, 1, 1, 4}, 3);
  const float* data = first.data();
  const Tensor second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.values()[3], 3);
}

TEST(FindNonFinite, FindsTheFirst) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kNan, -kNan, kInfinity, -kInfinity, std::nanf("7")})
    for (const size_t place : {size_t{0}, size_t{7}, size_t{99}}) {
      std::vector<float> values(100, 1.0f);
      values[place] = bad;
      values[99] = bad;
      EXPECT_EQ(find_non_finite(values), static_cast<int64_t>(place)) << bad;
    }
}

TEST(FindNonFinite, LargeAndTinyNumbersAreFinite) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> values{
      0.0f, -0.0f, Limits::max(), Limits::lowest(), Limits::min(), Limits::denorm_min()};
  EXPECT_EQ(find_non_finite(values), -1);
  EXPECT_EQ(find_non_finite({}), -1);
}

}  // namespace
}  // namespace mdsm
