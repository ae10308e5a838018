// Every own kernel of the native engine but Winograd's, in every instruction set this CPU has, against its
// definition in double.
#include "engine/native/kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/native_support.h"

namespace mdsm::engine::native {
namespace {

using namespace test;
using Op = Epilogue::Op;
using Add = EpilogueParts::Add;

constexpr float kUntouched = 9;

void expect_near(std::span<const float> got, std::span<const double> wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << "at " << i;
}

void expect_untouched(std::span<const float> values) {
  for (const float v : values) ASSERT_EQ(v, kUntouched);
}

TEST(Kernels, TheEnvironmentChoosesTheInstructionSet) {
  const char* wanted = std::getenv("MDSM_ISA");
  EXPECT_STREQ(kernels().isa, wanted && *wanted ? wanted : kernel_variants().back()->isa);
}

class KernelTest : public testing::TestWithParam<const Kernels*> {
 protected:
  std::vector<int64_t> blocks() const {
    return k.widest_block == 16 ? std::vector<int64_t>{8, 16} : std::vector<int64_t>{8};
  }
  const Kernels& k = *GetParam();
};

TEST_P(KernelTest, EluAndItsEdges) {
  for (const int64_t block : blocks()) {
    const Blocked shape{1, block, 12, block};
    const FloatBuffer x = [&] {
      FloatBuffer values = normal(shape.count(), 1, 4.0f);
      const float edges[] = {0.0f,   -0.0f,  1e-30f, -1e-30f, -1e-4f, -87.0f,
                             -87.5f, -88.0f, -89.0f, -200.0f, 3e38f,  -3e38f};
      std::ranges::copy(edges, values.data());
      return values;
    }();
    FloatBuffer y = filled(shape.count(), 0), second = filled(shape.count(), 0);
    std::ranges::copy(x.span(), y.data());
    k.floats.finish({.op = Op::elu}, shape.shape(), 0, 1, y.data());
    FloatBuffer same = filled(shape.count(), 0);
    std::ranges::copy(x.span(), same.data());
    k.floats.finish({.second = second.data()}, shape.shape(), 0, 1, same.data());
    for (int64_t i = 0; i < shape.count(); ++i) {
      const double v = static_cast<double>(x.data()[i]), wanted = elu(v);
      ASSERT_NEAR(y.data()[i], wanted, 2e-7 * std::max(1.0, std::abs(wanted))) << "x = " << v;
      ASSERT_GE(y.data()[i], -1.0f);  // the slope y + 1 must never be negative
      ASSERT_EQ(second.data()[i], y.data()[i]) << "x = " << v;
      ASSERT_EQ(same.data()[i], x.data()[i]);
    }
  }
}

TEST_P(KernelTest, EpilogueInEveryCombination) {
  for (const int64_t block : blocks()) {
    const Blocked shape{2, 2 * block - 3, 6, block};
    for (const EpilogueParts& parts :
         epilogue_parts({Op::none, Op::elu, Op::slope, Op::bend}, {Add::none, Add::map, Add::unpooled})) {
      SCOPED_TRACE(parts.text() + ", block " + std::to_string(block));
      EpilogueData data(parts, shape);
      FloatBuffer map = normal_map(shape, 2, 2.0f);
      const Finished wanted = data.finish(Doubles(map.span().begin(), map.span().end()));
      const Epilogue epilogue = data.epilogue(map.data());
      k.floats.finish(epilogue, shape.shape(), 0, 3, map.data());
      k.floats.finish(epilogue, shape.shape(), 3, 4, map.data());
      expect_near(map.span(), wanted.map, 4e-6);
      parts.raw ? expect_near(data.raw.span(), wanted.raw, 2e-6) : expect_untouched(data.raw.span());
      parts.second == EpilogueParts::Second::none ? expect_untouched(data.second.span())
                                                  : expect_near(data.second.span(), wanted.second, 4e-6);
    }
  }
}

TEST_P(KernelTest, EpilogueOfSomePlanesLeavesTheOthers) {
  const Blocked shape{3, 8, 5, 8};
  FloatBuffer map = filled(shape.count(), -1), second = filled(shape.count(), kUntouched);
  k.floats.finish({.op = Op::elu, .second = second.data()}, shape.shape(), 1, 2, map.data());
  const auto plane = static_cast<size_t>(shape.image());
  for (const size_t other : {size_t{0}, 2 * plane}) {
    for (const float v : map.span().subspan(other, plane)) ASSERT_EQ(v, -1);
    expect_untouched(second.span().subspan(other, plane));
  }
  for (const float v : map.span().subspan(plane, plane)) ASSERT_NEAR(v, std::expm1(-1.0), 1e-6);
}

TEST_P(KernelTest, PoolingAndItsTranspose) {
  for (const int64_t block : blocks()) {
    const Blocked shape{3, block, 6, block};
    const FloatBuffer in = normal(shape.count(), 5);
    FloatBuffer pooled = filled(shape.count() / 4, 0);
    k.floats.pool(shape.shape(), 0, 3, in.data(), 0, pooled.data(), false);
    Doubles wanted(pooled.size());
    for (int64_t at = 0; at < shape.count(); ++at)
      wanted[static_cast<size_t>(shape.pooled(at))] += 0.25 * static_cast<double>(in.data()[at]);
    expect_near(pooled.span(), wanted, 1e-6);

    // <pool(in), other> = <in, pool^T(other)>
    const FloatBuffer other = normal(shape.count() / 4, 6);
    FloatBuffer back = filled(shape.count(), 0);
    k.floats.finish({.add = other.data(), .add_unpooled = true}, shape.shape(), 0, 3, back.data());
    double left = 0, right = 0;
    for (size_t i = 0; i < other.size(); ++i) left += static_cast<double>(pooled.data()[i]) * other.data()[i];
    for (size_t i = 0; i < in.size(); ++i) right += static_cast<double>(in.data()[i]) * back.data()[i];
    EXPECT_NEAR(left, right, 1e-5);
  }
}

TEST_P(KernelTest, PlaneSum) {
  for (const int64_t block : blocks()) {
    const FloatBuffer in = normal(25 * block, 7);
    FloatBuffer sum = filled(block, 0);
    k.floats.plane_sum(in.data(), sum.data(), 25, block);
    Doubles wanted(sum.size());
    for (size_t i = 0; i < in.size(); ++i) wanted[i % sum.size()] += static_cast<double>(in.data()[i]);
    expect_near(sum.span(), wanted, 1e-5);
  }
}

// The first convolution by its definition, on one image without a border; y without the epilogue.
struct PlainInput {
  Doubles y, dx, dw;
};
PlainInput plain_input(const InputConvolution& conv, const Blocked& map, const FloatBuffer& x,
                       const FloatBuffer& dy) {
  const int64_t size = conv.width, taps = conv.channels * 9;
  PlainInput found{Doubles(static_cast<size_t>(map.image())), Doubles(x.size()),
                   Doubles(static_cast<size_t>(conv.out * taps))};
  for (int64_t o = 0; o < conv.out; ++o)
    for (int64_t pixel = 0; pixel < size * size; ++pixel)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t row = pixel / size + t / 3 % 3 - 1, column = pixel % size + t % 3 - 1;
        if (row < 0 || column < 0 || row >= size || column >= size) continue;
        const auto at = static_cast<size_t>(map.at(0, o, pixel / size, pixel % size));
        const auto from = static_cast<size_t>((t / 9 * size + row) * size + column);
        const auto tap = static_cast<size_t>((o / conv.block * taps + t) * conv.block + o % conv.block);
        const double w = static_cast<double>(conv.weights[tap]), d = static_cast<double>(dy.data()[at]);
        found.y[at] += w * static_cast<double>(x.data()[from]);
        found.dx[from] += w * d;
        found.dw[tap] += d * static_cast<double>(x.data()[from]);
      }
  return found;
}

FloatBuffer with_border(const FloatBuffer& x, int64_t channels, int64_t size) {
  FloatBuffer to = filled(channels * (size + 2) * (size + 2), 0);
  for (int64_t row = 0; row < channels * size; ++row)
    std::copy_n(x.data() + row * size, size,
                to.data() + (row / size * (size + 2) + row % size + 1) * (size + 2) + 1);
  return to;
}

TEST_P(KernelTest, InputConvolutionAndItsTransposes) {
  for (const int64_t block : blocks())
    for (const int64_t channels : {1, 3, 4})
      for (const int64_t size : {8, 12}) {
        const int64_t out = 2 * block;
        const Blocked map{1, out, size, block};
        const FloatBuffer weights = normal(out * channels * 9, 8), dy = normal(map.count(), 12),
                          x = normal(channels * size * size, 9), bordered = with_border(x, channels, size);
        const InputConvolution conv{channels, out, size, size, block, weights.data()};
        PlainInput wanted = plain_input(conv, map, x, dy);
        FloatBuffer dx = filled(channels * size * size, kUntouched), dw = filled(out * channels * 9, 1);
        k.floats.input_backward(conv, dy.data(), dx.data());
        expect_near(dx.span(), wanted.dx, 2e-4);
        k.floats.input_weights(conv, bordered.data(), dy.data(), dw.data());
        for (double& v : wanted.dw) v += 1;  // adds to what is there
        expect_near(dw.span(), wanted.dw, 1e-4);
      }
}

// The second image of two, with everything the epilogue may hold there.
TEST_P(KernelTest, InputConvolutionWithItsEpilogue) {
  for (const int64_t block : blocks())
    for (const EpilogueParts& parts : epilogue_parts({Op::none}, {Add::none, Add::map, Add::unpooled})) {
      SCOPED_TRACE(parts.text() + ", block " + std::to_string(block));
      const int64_t channels = 3, size = 8, out = 2 * block;
      const Blocked shape{2, out, size, block};
      const FloatBuffer weights = normal(out * channels * 9, 8), x = normal(channels * size * size, 9);
      const InputConvolution conv{channels, out, size, size, block, weights.data()};
      const Doubles plain = plain_input(conv, shape, x, filled(shape.count(), 0)).y;
      Doubles both(plain.size());  // of the first image nothing is looked at
      both.insert(both.end(), plain.begin(), plain.end());
      EpilogueData data(parts, shape);
      const Finished wanted = data.finish(both);
      FloatBuffer map = filled(shape.count(), kUntouched);
      k.floats.input_forward(conv, with_border(x, channels, size).data(), 1, data.epilogue(map.data()),
                             map.data());

      const auto image = static_cast<size_t>(shape.image());
      const auto expect_second = [&](const FloatBuffer& found, const Doubles& values) {
        expect_untouched(found.span().first(image));
        if (values.empty()) return expect_untouched(found.span());
        expect_near(found.span().subspan(image), std::span(values).subspan(image), 2e-5);
      };
      expect_second(map, wanted.map);
      expect_second(data.raw, wanted.raw);
      expect_second(data.second, wanted.second);
    }
}

TEST_P(KernelTest, AdamAndNorm) {
  const FloatBuffer gradient = normal(301, 13);
  FloatBuffer weights = normal(301, 14), m = normal(301, 15), v = normal(301, 16), ema = normal(301, 17);
  for (float& value : v.span()) value *= value;
  const AdamNumbers a{1e-2f, 0.9f, 0.95f, 1e-8f, 0.5f, 0.99f, 2.0f, 3.0f};
  Doubles wanted_weights, wanted_ema;
  double sum = 0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const double g = 0.5 * gradient.data()[i], m1 = 0.9 * m.data()[i] + 0.1 * g;
    const double v1 = 0.95 * v.data()[i] + 0.05 * g * g;
    wanted_weights.push_back(weights.data()[i] - 1e-2 * 2 * m1 / (std::sqrt(3 * v1) + 1e-8));
    wanted_ema.push_back(0.99 * ema.data()[i] + 0.01 * wanted_weights.back());
    sum += static_cast<double>(gradient.data()[i]) * gradient.data()[i];
  }
  k.adam(a, gradient.data(), weights.data(), m.data(), v.data(), ema.data(), 301);
  expect_near(weights.span(), wanted_weights, 1e-6);
  expect_near(ema.span(), wanted_ema, 1e-6);
  EXPECT_NEAR(k.sum_of_squares(gradient.data(), 301), sum, 1e-9 * sum);
}

// Kernels on maps in bfloat16 do what those on floats do, to the bits that bfloat16 has.
TEST_P(KernelTest, EpilogueInBfloat16) {
  for (const int64_t block : blocks()) {
    const Blocked shape{2, 2 * block - 3, 6, block};
    for (const EpilogueParts& parts :
         epilogue_parts({Op::none, Op::elu, Op::slope, Op::bend, Op::silu_slope, Op::silu_bend},
                        {Add::none, Add::map, Add::unpooled}))
      for (const bool silu : {false, true}) {
        SCOPED_TRACE(parts.text() + ", block " + std::to_string(block) + (silu ? ", SiLU" : ""));
        EpilogueData data(parts, shape);
        HalfEpilogue halves(data, silu);
        FloatBuffer map = normal_map(shape, 2, 2.0f);
        HalfMap half(map);
        Epilogue epilogue = data.epilogue(map.data());
        epilogue.second_silu = silu;
        k.floats.finish(epilogue, shape.shape(), 0, 4, map.data());
        k.halves.finish(halves.epilogue, shape.shape(), 0, 3, half.data());
        k.halves.finish(halves.epilogue, shape.shape(), 3, 4, half.data());
        half.expect_near(map);
        if (parts.raw) halves.raw.expect_near(data.raw);
        if (parts.second != EpilogueParts::Second::none) halves.second.expect_near(data.second);
      }
  }
}

TEST_P(KernelTest, ElementwiseInBfloat16) {
  for (const int64_t block : blocks()) {
    const Blocked shape{2, 2 * block, 6, block};
    FloatBuffer large = normal_map(shape, 1), small = normal_map(shape.halved(), 2);
    HalfMap half_large(large), half_small(small);
    FloatBuffer to_large = filled(shape.count(), 9), to_small = filled(shape.halved().count(), 9);
    HalfMap half_to_large(to_large), half_to_small(to_small);
    for (const bool sums : {false, true}) {
      k.floats.pool(shape.shape(), 0, 4, large.data(), 0, to_small.data(), sums);
      k.halves.pool(shape.shape(), 0, 4, half_large.data(), 0, half_to_small.data(), sums);
      half_to_small.expect_near(to_small);
    }
    k.floats.upsample(shape.shape(), 0, 4, small.data(), 0, to_large.data());
    k.halves.upsample(shape.shape(), 0, 4, half_small.data(), 0, half_to_large.data());
    half_to_large.expect_near(to_large);
    for (const bool unpooled : {false, true})
      for (const bool add : {false, true}) {
        k.floats.gather(shape.shape(), 0, 4, unpooled ? small.data() : large.data(), unpooled, add,
                        to_large.data());
        k.halves.gather(shape.shape(), 0, 4, unpooled ? half_small.data() : half_large.data(), unpooled, add,
                        half_to_large.data());
        half_to_large.expect_near(to_large);
      }
    FloatBuffer sum = filled(block, 0), half_sum = filled(block, 0);
    k.floats.plane_sum(large.data(), sum.data(), 36, block);
    k.halves.plane_sum(half_large.data(), half_sum.data(), 36, block);
    for (int64_t c = 0; c < block; ++c) EXPECT_NEAR(half_sum.data()[c], sum.data()[c], 1e-4);
    FloatBuffer back = filled(shape.count(), 0);
    HalfMap narrowed(back);
    k.widen(half_large.data(), back.data(), shape.count());
    for (int64_t j = 0; j < shape.count(); ++j) ASSERT_EQ(back.data()[j], large.data()[j]);
    k.narrow(back.data(), narrowed.data(), shape.count());
    for (int64_t j = 0; j < shape.count(); ++j) ASSERT_EQ(narrowed.data()[j], half_large.data()[j]);
  }
}

TEST_P(KernelTest, InputConvolutionInBfloat16) {
  for (const int64_t block : blocks()) {
    const Blocked shape{1, block, 6, block};
    const FloatBuffer weights = normal(block * 2 * 9, 3), x = normal(2 * 8 * 8 + 16, 4);
    const InputConvolution conv{2, block, 6, 6, block, weights.data()};
    FloatBuffer map = filled(shape.count(), 9), dx = filled(2 * 36, 0), half_dx = filled(2 * 36, 0),
                dw = filled(block * 18, 1), half_dw = filled(block * 18, 1), dy = normal_map(shape, 5);
    HalfMap half(map), half_dy(dy);
    k.floats.input_forward(conv, x.data(), 0, {}, map.data());
    k.halves.input_forward(conv, x.data(), 0, {}, half.data());
    half.expect_near(map);
    k.floats.input_backward(conv, dy.data(), dx.data());
    k.halves.input_backward(conv, half_dy.data(), half_dx.data());
    k.floats.input_weights(conv, x.data(), dy.data(), dw.data());
    k.halves.input_weights(conv, x.data(), half_dy.data(), half_dw.data());
    for (int64_t j = 0; j < 72; ++j) ASSERT_NEAR(half_dx.data()[j], dx.data()[j], 1e-4);
    for (int64_t j = 0; j < block * 18; ++j) ASSERT_NEAR(half_dw.data()[j], dw.data()[j], 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryIsa, KernelTest, testing::ValuesIn(kernel_variants()),
                         [](const auto& variant) { return std::string(variant.param->isa); });

}  // namespace
}  // namespace mdsm::engine::native
