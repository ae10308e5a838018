// Every own kernel of the native engine, in every instruction set this CPU has, against its definition in
// double.
#include "engine/native/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.h"

namespace mdsm::native {
namespace {

std::vector<float> normal(size_t count, uint64_t index, float scale = 1.0f) {
  std::vector<float> values(count);
  RandomStream(11, Purpose::check, index).fill_normal(values);
  for (float& v : values) v *= scale;
  return values;
}

void expect_near(const std::vector<float>& got, const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << "at " << i;
}

std::vector<const Kernels*> variants() {
  const Kernels* found[3];
  const int count = kernel_variants(found);
  return {found, found + count};
}

class KernelTest : public testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& k = *GetParam();
};

TEST_P(KernelTest, Elu) {
  std::vector<float> x = normal(1003, 1, 4.0f), y(x.size());
  const float edges[] = {0.0f, -0.0f, 1e-30f, -1e-30f, -87.0f, -88.0f, -200.0f, 3e38f, -3e38f};
  std::copy(std::begin(edges), std::end(edges), x.begin());
  k.elu(x.data(), y.data(), static_cast<int64_t>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    const double wanted = x[i] > 0 ? x[i] : std::expm1(static_cast<double>(x[i]));
    ASSERT_NEAR(y[i], wanted, 2e-7 * std::max(1.0, std::abs(wanted))) << "x = " << x[i];
    ASSERT_GE(y[i], -1.0f);  // the slope y + 1 must never be negative
  }
}

TEST_P(KernelTest, SlopesInPlaceAndNot) {
  const auto in = normal(517, 1), delta = normal(517, 3), ydot = normal(517, 4);
  auto y = normal(517, 2);
  for (float& v : y) v = std::max(v, -1.0f);
  std::vector<double> slope(in.size()), bent(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    slope[i] = in[i] * (y[i] > 0 ? 1.0 : y[i] + 1.0);
    bent[i] = slope[i] + (y[i] > 0 ? 0.0 : static_cast<double>(delta[i]) * ydot[i]);
  }
  std::vector<float> out(in.size()), same = in;
  const auto count = static_cast<int64_t>(in.size());
  k.times_elu_slope(in.data(), y.data(), out.data(), count);
  expect_near(out, slope, 1e-6);
  k.times_elu_slope(same.data(), y.data(), same.data(), count);
  expect_near(same, slope, 1e-6);
  k.second_order_slope(in.data(), y.data(), delta.data(), ydot.data(), out.data(), count);
  expect_near(out, bent, 2e-6);
  std::vector<float> sum = in;
  k.add(y.data(), sum.data(), count);
  for (size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], in[i] + y[i]);
}

TEST_P(KernelTest, PoolingAndItsTranspose) {
  for (const int64_t block : {8, 16}) {
    const int64_t planes = 3, size = 6, pixels = size * size;
    const auto in = normal(static_cast<size_t>(planes * pixels * block), 5);
    std::vector<float> pooled(in.size() / 4);
    k.pool(in.data(), pooled.data(), planes, size, block);
    std::vector<double> wanted(pooled.size());
    for (int64_t p = 0; p < planes; ++p)
      for (int64_t y = 0; y < size; ++y)
        for (int64_t x = 0; x < size; ++x)
          for (int64_t b = 0; b < block; ++b)
            wanted[static_cast<size_t>(((p * 3 + y / 2) * 3 + x / 2) * block + b)] +=
                0.25 * in[static_cast<size_t>((p * pixels + y * size + x) * block + b)];
    expect_near(pooled, wanted, 1e-6);

    // <pool(in), other> = <in, pool^T(other)>
    const auto other = normal(pooled.size(), 6);
    std::vector<float> back(in.size(), 0.0f);
    k.add_unpooled(other.data(), back.data(), planes, size, block);
    double left = 0, right = 0;
    for (size_t i = 0; i < other.size(); ++i) left += static_cast<double>(pooled[i]) * other[i];
    for (size_t i = 0; i < in.size(); ++i) right += static_cast<double>(in[i]) * back[i];
    EXPECT_NEAR(left, right, 1e-5);
  }
}

TEST_P(KernelTest, PlaneSum) {
  for (const int64_t block : {8, 16}) {
    const auto in = normal(static_cast<size_t>(25 * block), 7);
    std::vector<float> sum(static_cast<size_t>(block));
    k.plane_sum(in.data(), sum.data(), 25, block);
    for (int64_t b = 0; b < block; ++b) {
      double wanted = 0;
      for (int64_t p = 0; p < 25; ++p) wanted += in[static_cast<size_t>(p * block + b)];
      EXPECT_NEAR(sum[static_cast<size_t>(b)], wanted, 1e-5);
    }
  }
}

TEST_P(KernelTest, InputConvolutionAndItsTransposes) {
  for (const int64_t block : {8, 16})
    for (const int64_t channels : {1, 3, 4}) {
      const int64_t out = 32, size = 8, pixels = size * size;
      const auto weights = normal(static_cast<size_t>(out * channels * 9), 8);
      const auto x = normal(static_cast<size_t>(channels * pixels), 9),
                 bias = normal(static_cast<size_t>(out), 10);
      const InputConvolution conv{channels, out, size, block, weights.data()};
      const auto feature = [&](int64_t o, int64_t row, int64_t column) {
        return static_cast<size_t>(((o / block * size + row) * size + column) * block + o % block);
      };
      const auto tap = [&](int64_t o, int64_t c, int64_t i, int64_t j) {
        return static_cast<size_t>((((o / block * channels + c) * 3 + i) * 3 + j) * block + o % block);
      };
      std::vector<float> y(static_cast<size_t>(out * pixels)), dx(x.size()), dw(weights.size(), 1.0f);
      const auto dy = normal(y.size(), 12);
      std::vector<double> wanted_y(y.size()), wanted_dx(x.size()), wanted_dw(weights.size(), 1.0);
      for (int64_t o = 0; o < out; ++o)
        for (int64_t row = 0; row < size; ++row)
          for (int64_t column = 0; column < size; ++column) {
            const size_t at = feature(o, row, column);
            wanted_y[at] += bias[static_cast<size_t>(o)];
            for (int64_t c = 0; c < channels; ++c)
              for (int64_t i = 0; i < 3; ++i)
                for (int64_t j = 0; j < 3; ++j) {
                  const int64_t r = row + i - 1, s = column + j - 1;
                  if (r < 0 || s < 0 || r >= size || s >= size) continue;
                  const auto pixel = static_cast<size_t>(c * pixels + r * size + s);
                  wanted_y[at] += static_cast<double>(weights[tap(o, c, i, j)]) * x[pixel];
                  wanted_dx[pixel] += static_cast<double>(weights[tap(o, c, i, j)]) * dy[at];
                  wanted_dw[tap(o, c, i, j)] += static_cast<double>(dy[at]) * x[pixel];
                }
          }
      k.input_forward(conv, x.data(), bias.data(), y.data());
      expect_near(y, wanted_y, 2e-5);
      k.input_backward(conv, dy.data(), dx.data());
      expect_near(dx, wanted_dx, 2e-4);
      k.input_weights(conv, x.data(), dy.data(), dw.data(), 0, 1);
      k.input_weights(conv, x.data(), dy.data(), dw.data(), 1, out / block);
      expect_near(dw, wanted_dw, 1e-4);
    }
}

TEST_P(KernelTest, AdamAndNorm) {
  const auto gradient = normal(301, 13);
  auto weights = normal(301, 14), m = normal(301, 15), v = normal(301, 16), ema = normal(301, 17);
  for (float& value : v) value *= value;
  const AdamNumbers a{1e-2f, 0.9f, 0.95f, 1e-8f, 0.5f, 0.99f, 2.0f, 3.0f};
  std::vector<double> wanted_weights, wanted_ema;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double g = 0.5 * gradient[i], m1 = 0.9 * m[i] + 0.1 * g, v1 = 0.95 * v[i] + 0.05 * g * g;
    wanted_weights.push_back(weights[i] - 1e-2 * 2 * m1 / (std::sqrt(3 * v1) + 1e-8));
    wanted_ema.push_back(0.99 * ema[i] + 0.01 * wanted_weights.back());
  }
  k.adam(a, gradient.data(), weights.data(), m.data(), v.data(), ema.data(), 301);
  expect_near(weights, wanted_weights, 1e-6);
  expect_near(ema, wanted_ema, 1e-6);
  double sum = 0;
  for (const float g : gradient) sum += static_cast<double>(g) * g;
  EXPECT_NEAR(k.sum_of_squares(gradient.data(), 301), sum, 1e-9 * sum);
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, KernelTest, testing::ValuesIn(variants()),
                         [](const auto& variant) { return std::string(variant.param->isa); });

}  // namespace
}  // namespace mdsm::native
