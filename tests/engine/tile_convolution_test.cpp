// The convolution on matrix units against the definition of a convolution in double. Maps and weights are
// numbers that bfloat16 holds exactly and results are wide, so nothing but the order of a float32 sum may
// differ. Where the CPU
// has no matrix units the products are emulated; the loops around them are the same.
#include "engine/native/tile_convolution.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/threads.h"
#include "engine/native/kernels.h"
#include "engine/native_support.h"
#include "engine/support.h"

namespace mdsm::engine::native {
namespace {

using namespace test;
using mdsm::test::relative_error;

constexpr double kTolerance = 2e-6;

struct Size {
  int64_t n, in, out, height, width;
};

// A map in the engine's layout, not square.
struct Place {
  int64_t channels, height, width, block, planes;
  int64_t at(int64_t i, int64_t c, int64_t y, int64_t x) const {
    return (((i * planes + c / block) * height + y) * width + x) * block + c % block;
  }
};

class TileConvolutionTest : public testing::TestWithParam<std::tuple<int64_t, int64_t>> {
 protected:
  void SetUp() override {
    if (block() > kernels().widest_block) GTEST_SKIP() << "no blocks of " << block() << " here";
  }
  void TearDown() override { set_thread_count(0); }
  int64_t block() const { return std::get<0>(GetParam()); }
  int64_t kernel() const { return std::get<1>(GetParam()); }
};

// Eighths between -2 and 2: so are a quarter of the sums of four of them, to 32nds.
float exact_number(float normal) { return std::round(std::clamp(normal, -2.0f, 2.0f) * 8.0f) / 8.0f; }

struct Problem {
  Size size;
  int64_t block, kernel, taps;
  int64_t extra;  // planes of an image that belong to a larger map
  Place from, to;
  FloatBuffer src, diff_dst, plain;
  TileWeights weights;

  Problem(const Size& s, int64_t block_, int64_t kernel_, int64_t extra_ = 0)
      : size(s),
        block(block_),
        kernel(kernel_),
        taps(kernel_ == 4 ? 3 : kernel_),
        extra(extra_),
        from{s.in, s.height, s.width, block, padded(s.in) / block + extra},
        to{s.out, out_height(), out_width(), block, padded(s.out) / block + extra},
        src(map(from, 1)),
        diff_dst(map(to, 2)),
        plain(normal(s.out * s.in * taps * taps, 3)),
        weights(s.out, s.in, taps, kernel == 4) {
    for (float& v : plain.span()) v = exact_number(v);
    weights.set(plain.data());
  }

  int64_t padded(int64_t channels) const { return (channels + block - 1) / block * block; }
  int64_t out_height() const { return kernel == 4 ? size.height / 2 : size.height; }
  int64_t out_width() const { return kernel == 4 ? size.width / 2 : size.width; }
  // What is not of this map is NaN; padding channels are zero.
  FloatBuffer map(const Place& place, uint64_t index) const {
    FloatBuffer values = filled(size.n * place.planes * place.height * place.width * block, NAN);
    const FloatBuffer random = normal(size.n * padded(place.channels) * place.height * place.width, index);
    int64_t next = 0;
    for (int64_t i = 0; i < size.n; ++i)
      for (int64_t c = 0; c < padded(place.channels); ++c)
        for (int64_t y = 0; y < place.height; ++y)
          for (int64_t x = 0; x < place.width; ++x)
            values.data()[place.at(i, c, y, x)] =
                c < place.channels ? exact_number(random.data()[next++]) : 0.0f;
    return values;
  }
  TileConvolution make() const {
    return TileConvolution(
        {size.n, padded(size.in), padded(size.out), size.height, size.width, block, kernel});
  }
  FloatBuffer forward() {
    FloatBuffer dst = filled(static_cast<int64_t>(diff_dst.size()), 9);
    HalfMap half(src);
    make().forward({half.data(), from.planes}, weights, {}, MapOut(dst.data(), to.planes));
    return dst;
  }
  FloatBuffer backward() {
    FloatBuffer diff_src = filled(static_cast<int64_t>(src.size()), 9);
    HalfMap half(diff_dst);
    make().backward({half.data(), to.planes}, weights, {}, MapOut(diff_src.data(), from.planes));
    return diff_src;
  }
  FloatBuffer gradient() {
    FloatBuffer sum = filled(static_cast<int64_t>(plain.size()), 0.5f);
    const TileConvolution convolution = make();
    FloatBuffer scratch = filled(convolution.gradient_scratch_count(), NAN);
    HalfMap half_src(src), half_dst(diff_dst);
    convolution.gradient({half_src.data(), from.planes}, {half_dst.data(), to.planes}, weights, sum.data(),
                         scratch.data());
    return sum;
  }
  void expect_definition() {
    const FloatBuffer dst = forward(), diff_src = backward(), sum = gradient();
    Doubles wanted(dst.size()), wanted_back(diff_src.size()), wanted_sum(sum.size(), 0.5);
    const double mean = kernel == 4 ? 0.25 : 1.0;
    const int64_t reach = taps / 2, step = kernel == 4 ? 2 : 1;
    for (int64_t i = 0; i < size.n; ++i)
      for (int64_t o = 0; o < size.out; ++o)
        for (int64_t c = 0; c < size.in; ++c)
          for (int64_t y = 0; y < size.height; ++y)
            for (int64_t x = 0; x < size.width; ++x)
              for (int64_t t = 0; t < taps * taps; ++t) {
                const int64_t row = y + t / taps - reach, column = x + t % taps - reach;
                if (row < 0 || column < 0 || row >= size.height || column >= size.width) continue;
                const auto in = static_cast<size_t>(from.at(i, c, row, column)),
                           out = static_cast<size_t>(to.at(i, o, y / step, x / step)),
                           tap = static_cast<size_t>((o * size.in + c) * taps * taps + t);
                const double w = mean * static_cast<double>(plain.data()[tap]),
                             a = static_cast<double>(src.data()[in]),
                             d = static_cast<double>(diff_dst.data()[out]);
                wanted[out] += w * a;
                wanted_back[in] += w * d;
                wanted_sum[tap] += mean * a * d;
              }
    expect_map(to, dst, wanted);
    expect_map(from, diff_src, wanted_back);
    EXPECT_LT(relative_error(sum.span(), wanted_sum), kTolerance);
  }
  // The map is right, its padding zero, and what lies beside it as it was.
  void expect_map(const Place& place, const FloatBuffer& found, Doubles& wanted) const {
    for (int64_t i = 0; i < size.n; ++i)
      for (int64_t c = padded(place.channels); c < place.planes * block; ++c)
        for (int64_t y = 0; y < place.height; ++y)
          for (int64_t x = 0; x < place.width; ++x) wanted[static_cast<size_t>(place.at(i, c, y, x))] = 9;
    EXPECT_LT(relative_error(found.span(), wanted), kTolerance);
    for (size_t k = 0; k < wanted.size(); ++k)
      if (wanted[k] == 9 || wanted[k] == 0) {
        ASSERT_NEAR(found.data()[k], wanted[k], 1e-4);
      }
  }
};

TEST_P(TileConvolutionTest, EveryPassFollowsTheDefinition) {
  for (const Size& size :
       {Size{1, 16, 16, 8, 8}, Size{2, 3, 5, 6, 10}, Size{3, 40, 24, 4, 4}, Size{1, 32, 64, 34, 2},
        Size{5, 17, 33, 2, 6}, Size{1, 8, 3, 32, 32}, Size{2, 72, 8, 12, 16}, Size{9, 64, 64, 4, 4}}) {
    SCOPED_TRACE(
        fmt::format("n {}, {} to {} channels, {}x{}", size.n, size.in, size.out, size.height, size.width));
    Problem(size, block(), kernel()).expect_definition();
  }
}

// So many positions that they are worked on in several pieces, rows of one image among them.
TEST_P(TileConvolutionTest, InPieces) {
  Problem(Size{2, 96, 40, 40, 70}, block(), kernel()).expect_definition();
  if (kernel() != 4) Problem(Size{1, 16, 8, 7, 1501}, block(), kernel()).expect_definition();
}

TEST_P(TileConvolutionTest, PartsOfLargerMaps) {
  Problem(Size{3, 24, 32, 6, 6}, block(), kernel(), 2).expect_definition();
}

// So many inputs that sums are kept between groups of them, and outputs that are shared out.
TEST_P(TileConvolutionTest, ManyChannels) {
  Problem(Size{3, 328, 24, 6, 6}, block(), kernel()).expect_definition();
  Problem(Size{2, 72, 344, 4, 4}, block(), kernel()).expect_definition();
}

// The epilogue between the products: against that of floats on the wide result.
TEST_P(TileConvolutionTest, EveryEpilogue) {
  if (kernel() == 4 && block() > 8) GTEST_SKIP() << "the other kernels are enough";
  Problem problem(Size{3, 24, 2 * block(), 6, 6}, block(), 3);
  const Blocked shape{3, 2 * block(), 6, block()};
  for (const EpilogueParts& parts :
       epilogue_parts({Epilogue::Op::none, Epilogue::Op::elu, Epilogue::Op::slope, Epilogue::Op::bend,
                       Epilogue::Op::silu_slope, Epilogue::Op::silu_bend},
                      {EpilogueParts::Add::none, EpilogueParts::Add::map, EpilogueParts::Add::unpooled}))
    for (const bool silu : {false, true}) {
      SCOPED_TRACE(parts.text() + (silu ? ", SiLU" : ""));
      EpilogueData data(parts, shape);
      HalfEpilogue halves(data, silu);
      FloatBuffer wanted = problem.forward(), result = filled(shape.count(), 9);
      Epilogue epilogue = data.epilogue(wanted.data());
      epilogue.second_silu = silu;
      kernels().floats.finish(epilogue, shape.shape(), 0, 6, wanted.data());
      HalfMap src(problem.src), half(result);
      problem.make().forward({src.data(), problem.from.planes}, problem.weights, halves.epilogue,
                             MapOutOf<Bfloat16>(half.data()));
      half.expect_near(wanted);
      if (parts.raw) halves.raw.expect_near(data.raw);
      if (parts.second != EpilogueParts::Second::none) halves.second.expect_near(data.second);
    }
}

TEST_P(TileConvolutionTest, BitsDependNeitherOnTheBatchNorOnThreads) {
  const auto same = [](std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  };
  Problem whole(Size{37, 40, 24, 16, 16}, block(), kernel()), one(Size{1, 40, 24, 16, 16}, block(), kernel());
  for (FloatBuffer* values : {&whole.src, &whole.diff_dst})
    for (float& v : values->span()) v *= 1.2345f;
  set_thread_count(1);
  const FloatBuffer dst = whole.forward(), diff_src = whole.backward(), sum = whole.gradient();
  for (const int threads : {2, 3}) {
    set_thread_count(threads);
    EXPECT_TRUE(same(whole.forward().span(), dst.span())) << threads;
    EXPECT_TRUE(same(whole.backward().span(), diff_src.span())) << threads;
    EXPECT_TRUE(same(whole.gradient().span(), sum.span())) << threads;
  }
  const size_t in = one.src.size(), out = one.diff_dst.size();
  for (size_t i = 0; i < 37; i += 6) {
    std::ranges::copy(whole.src.span().subspan(i * in, in), one.src.data());
    std::ranges::copy(whole.diff_dst.span().subspan(i * out, out), one.diff_dst.data());
    EXPECT_TRUE(same(one.forward().span(), dst.span().subspan(i * out, out))) << "image " << i;
    EXPECT_TRUE(same(one.backward().span(), diff_src.span().subspan(i * in, in))) << "image " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, TileConvolutionTest,
                         testing::Combine(testing::Values(int64_t{8}, int64_t{16}),
                                          testing::Values(int64_t{1}, int64_t{3}, int64_t{4})),
                         [](const auto& made) {
                           return fmt::format("block{}_kernel{}", std::get<0>(made.param),
                                              std::get<1>(made.param));
                         });

TEST(Bfloat16, RoundsToTheNearest) {
  EXPECT_EQ(to_float(to_bfloat16(1.0f)), 1.0f);
  EXPECT_EQ(to_float(to_bfloat16(1.0f + 0x1p-8f)), 1.0f);              // halfway: to the even one
  EXPECT_EQ(to_float(to_bfloat16(1.0f + 0x1.8p-7f)), 1.0f + 0x1p-6f);  // and up to the even one
  EXPECT_EQ(to_float(to_bfloat16(-1.0f - 0x1.1p-8f)), -1.0f - 0x1p-7f);
  EXPECT_EQ(to_float(to_bfloat16(INFINITY)), INFINITY);
  EXPECT_EQ(to_float(to_bfloat16(3.4e38f)), INFINITY);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(NAN))));
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(-NAN))));
}

// Maps are rounded in the same way.
TEST(Bfloat16, MapsAreRoundedToTheNearest) {
  FloatBuffer map = normal(32 * 4, 5);
  const float edges[] = {NAN, INFINITY, -INFINITY, 3.4e38f, 1.0f + 0x1p-8f, 1.0f + 0x1.8p-7f, -0.0f, 1e-40f};
  std::ranges::copy(edges, map.data());
  alignas(64) Bfloat16 to[32 * 4];
  for (const Kernels* variant : kernel_variants()) {
    variant->narrow(map.data(), to, 32 * 4);
    for (int64_t k = 0; k < 32 * 4; ++k)
      EXPECT_EQ(to[k], to_bfloat16(map.data()[k])) << variant->isa << ", " << map.data()[k];
  }
}

}  // namespace
}  // namespace mdsm::engine::native
