// Winograd's convolution against the definition of a convolution in double: every pass, pooled and not, with
// padding channels, partial tiles, every epilogue; and that bits depend neither on the batch nor on threads.
// The instruction set is that of the process: CMakeLists.txt runs these again with others.
#include "engine/native/winograd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "core/threads.h"
#include "engine/native/kernels.h"
#include "engine/native/thread_memory.h"
#include "engine/native_support.h"
#include "engine/support.h"

namespace mdsm::engine::native {
namespace {

using namespace test;
using mdsm::test::relative_error;
using Op = Epilogue::Op;
using Add = EpilogueParts::Add;

constexpr double kTolerance = 5e-6;
constexpr float kUntouched = 9;

struct Shape {
  int64_t n, in, out, size, block;
  bool pooled;

  Blocked source() const { return {n, in, size, block}; }
  Blocked result() const { return {n, out, pooled ? size / 2 : size, block}; }
  Shape with_n(int64_t count) const { return {count, in, out, size, block, pooled}; }
  std::string text() const {
    return fmt::format("n {}, {} to {} channels, size {}, block {}{}", n, in, out, size, block,
                       pooled ? ", pooled" : "");
  }
};

// A 3x3 convolution (padding 1) and its transposes, followed by 2x2 means where pooled. Of the weight
// gradient, only the output channels 0, step, 2 step, ...
struct Plain {
  Doubles dst, diff_src, gradient;

  Plain(const Shape& s, const FloatBuffer& src, const FloatBuffer& diff_dst, const FloatBuffer& weights,
        int64_t step = 1)
      : dst(static_cast<size_t>(s.result().count())),
        diff_src(static_cast<size_t>(s.source().count())),
        gradient(weights.size()) {
    for (int64_t i = 0; i < s.n; ++i)
      for (int64_t o = 0; o < s.out; o += step)
        for (int64_t c = 0; c < s.in; ++c)
          for (int64_t y = 0; y < s.size; ++y)
            for (int64_t x = 0; x < s.size; ++x)
              for (int64_t t = 0; t < 9; ++t) {
                const int64_t row = y + t / 3 - 1, column = x + t % 3 - 1;
                if (row < 0 || column < 0 || row >= s.size || column >= s.size) continue;
                const auto from = static_cast<size_t>(s.source().at(i, c, row, column));
                const auto to = static_cast<size_t>(s.pooled ? s.result().at(i, o, y / 2, x / 2)
                                                             : s.result().at(i, o, y, x));
                const auto tap = static_cast<size_t>((o * s.in + c) * 9 + t);
                const double w = static_cast<double>(weights.data()[tap]) * (s.pooled ? 0.25 : 1.0);
                dst[to] += w * static_cast<double>(src.data()[from]);
                diff_src[from] += w * static_cast<double>(diff_dst.data()[to]);
                gradient[tap] += (s.pooled ? 0.25 : 1.0) * static_cast<double>(src.data()[from]) *
                                 static_cast<double>(diff_dst.data()[to]);
              }
  }
};

// Scratch memory full of NaN, whose end must stay as it is.
class Scratch {
 public:
  explicit Scratch(int64_t count)
      : count_(count), memory_(filled(count + kGuard, std::numeric_limits<float>::quiet_NaN())) {}
  ~Scratch() {
    for (const float v : memory_.span().subspan(static_cast<size_t>(count_))) EXPECT_TRUE(std::isnan(v));
  }
  float* data() { return memory_.data(); }

 private:
  static constexpr int64_t kGuard = 4096;
  int64_t count_;
  FloatBuffer memory_;
};

// One convolution with random maps and weights.
struct Problem {
  Shape shape;
  FloatBuffer src, diff_dst, plain;
  WinogradWeights weights;

  explicit Problem(const Shape& s)
      : shape(s),
        src(normal_map(s.source(), 1)),
        diff_dst(normal_map(s.result(), 2)),
        plain(normal(s.out * s.in * 9, 3, 1.0f / std::sqrt(9.0f * static_cast<float>(s.in)))),
        weights(s.out, s.in, s.pooled, {s.block}) {
    weights.set(plain.data());
  }

  // For the number of threads at the time it is made.
  WinogradConvolution make() const {
    return WinogradConvolution({shape.n, shape.source().padded(), shape.result().padded(), shape.size,
                                shape.size, shape.block, shape.pooled});
  }
  void forward_into(float* dst, const Epilogue& epilogue) { forward_into(make(), dst, epilogue); }
  void forward_into(const WinogradConvolution& convolution, float* dst, const Epilogue& epilogue) {
    Scratch scratch(convolution.scratch_count());
    convolution.forward(src.data(), weights, epilogue, dst, scratch.data());
  }
  void backward_into(float* diff_src, const Epilogue& epilogue) {
    const WinogradConvolution convolution = make();
    Scratch scratch(convolution.scratch_count());
    convolution.backward(diff_dst.data(), weights, epilogue, diff_src, scratch.data());
  }
  FloatBuffer forward() {
    FloatBuffer dst = filled(shape.result().count(), kUntouched);
    forward_into(dst.data(), {});
    return dst;
  }
  FloatBuffer backward() {
    FloatBuffer diff_src = filled(shape.source().count(), kUntouched);
    backward_into(diff_src.data(), {});
    return diff_src;
  }
  // Added to `start`.
  FloatBuffer gradient(float start) { return gradient(make(), start); }
  FloatBuffer gradient(const WinogradConvolution& convolution, float start) {
    FloatBuffer sum = filled(static_cast<int64_t>(plain.size()), start);
    Scratch scratch(convolution.gradient_scratch_count());
    convolution.gradient(src.data(), diff_dst.data(), weights, sum.data(), scratch.data());
    return sum;
  }
  Plain definition() const { return Plain(shape, src, diff_dst, plain); }
};

void expect_map(const Blocked& shape, const FloatBuffer& found, const Doubles& wanted) {
  EXPECT_LT(relative_error(found.span(), wanted), kTolerance);
  for (int64_t at = 0; at < shape.count(); ++at) {
    if (shape.channel(at) < shape.channels) continue;
    ASSERT_EQ(found.data()[at], 0) << "padding at " << at;
  }
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

class WinogradTest : public testing::TestWithParam<std::tuple<int64_t, bool>> {
 protected:
  void SetUp() override {
    if (block() > kernels().widest_block) GTEST_SKIP() << "no blocks of " << block() << " here";
  }
  void TearDown() override { set_thread_count(0); }
  int64_t block() const { return std::get<0>(GetParam()); }
  bool pooled() const { return std::get<1>(GetParam()); }
  Shape shape(int64_t n, int64_t in, int64_t out, int64_t size) const {
    return {n, in, out, size, block(), pooled()};
  }
  // More than 2^20 transformed weights: threads share the points instead of the tiles. 33 images have tiles
  // for more than one piece.
  Shape shared_by_points(int64_t n, int64_t size) const {
    return pooled() ? shape(n, 104, 107, size) : shape(n, 173, 176, size);
  }
};

TEST_P(WinogradTest, EveryPassFollowsTheDefinition) {
  for (const int64_t size : {4, 5, 6, 8, 12, 16}) {
    if (pooled() && size % 2) continue;
    for (const auto& [n, in, out] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
             {1, 16, 16}, {2, 3, 5}, {5, 12, 20}, {1, 40, 8}, {2, 24, 48}, {1, 72, 17}}) {
      Problem problem(shape(n, in, out, size));
      SCOPED_TRACE(problem.shape.text());
      Plain wanted = problem.definition();
      expect_map(problem.shape.result(), problem.forward(), wanted.dst);
      expect_map(problem.shape.source(), problem.backward(), wanted.diff_src);
      for (double& v : wanted.gradient) v += 0.5;
      EXPECT_LT(relative_error(problem.gradient(0.5f).span(), wanted.gradient), kTolerance);
    }
  }
}

// More channels than one product takes at a time.
TEST_P(WinogradTest, ManyInputChannels) {
  Problem problem(shape(1, 300, 33, 6));
  const Plain wanted = problem.definition();
  expect_map(problem.shape.result(), problem.forward(), wanted.dst);
  expect_map(problem.shape.source(), problem.backward(), wanted.diff_src);
  EXPECT_LT(relative_error(problem.gradient(0).span(), wanted.gradient), kTolerance);
}

// Epilogues with these parts, on results and on gradients by the input.
void expect_epilogues(Problem& problem, const std::function<bool(const EpilogueParts&)>& wanted_parts) {
  const Plain plain = problem.definition();
  for (const bool forward : {true, false}) {
    const Blocked target = forward ? problem.shape.result() : problem.shape.source();
    for (const EpilogueParts& parts : epilogue_parts({Op::none, Op::elu, Op::slope, Op::bend},
                                                     {Add::none, Add::map, Add::own_memory, Add::unpooled})) {
      if (!wanted_parts(parts)) continue;
      SCOPED_TRACE(parts.text() + (forward ? ", forward" : ", backward"));
      EpilogueData data(parts, target);
      const Finished wanted = data.finish(forward ? plain.dst : plain.diff_src);
      FloatBuffer map = filled(target.count(), kUntouched);
      if (parts.add == Add::own_memory) std::ranges::copy(data.add.span(), map.data());
      const Epilogue epilogue = data.epilogue(map.data());
      forward ? problem.forward_into(map.data(), epilogue) : problem.backward_into(map.data(), epilogue);
      expect_map(target, map, wanted.map);
      if (parts.raw) expect_map(target, data.raw, wanted.raw);
      if (parts.second != EpilogueParts::Second::none) expect_map(target, data.second, wanted.second);
    }
  }
}

TEST_P(WinogradTest, EveryEpilogue) {
  Problem problem(shape(2, 11, 13, pooled() ? 12 : 6));
  expect_epilogues(problem, [](const EpilogueParts&) { return true; });
}

TEST_P(WinogradTest, EpiloguesWhereThreadsSharePoints) {
  Problem problem(shared_by_points(1, pooled() ? 12 : 6));
  expect_epilogues(problem, [](const EpilogueParts& parts) { return parts.bias && parts.raw; });
}

TEST_P(WinogradTest, AnImagesBitsDependNeitherOnItsBatchNorOnThreads) {
  // The second has so many tiles that they are worked on in several pieces, whole ones for each thread.
  for (const Shape& many : {shape(5, 12, 20, 12), shape(37, 96, 104, pooled() ? 16 : 8),
                            shared_by_points(33, pooled() ? 10 : 5)}) {
    set_thread_count(1);
    Problem whole(many), single(many.with_n(1));
    const FloatBuffer dst = whole.forward(), diff_src = whole.backward();
    for (const int threads : {2, 3}) {
      set_thread_count(threads);
      EXPECT_TRUE(same_bits(whole.forward().span(), dst.span())) << many.text() << ", threads " << threads;
      EXPECT_TRUE(same_bits(whole.backward().span(), diff_src.span())) << many.text() << ", " << threads;
    }
    const Blocked source = single.shape.source(), result = single.shape.result();
    for (int64_t i = 0; i < many.n; i += 4) {
      std::copy_n(whole.src.data() + i * source.image(), source.image(), single.src.data());
      std::copy_n(whole.diff_dst.data() + i * result.image(), result.image(), single.diff_dst.data());
      const auto image = [&](const FloatBuffer& of, const Blocked& shape) {
        return of.span().subspan(static_cast<size_t>(i * shape.image()), static_cast<size_t>(shape.image()));
      };
      EXPECT_TRUE(same_bits(single.forward().span(), image(dst, result))) << many.text() << ", image " << i;
      EXPECT_TRUE(same_bits(single.backward().span(), image(diff_src, source))) << many.text() << ", " << i;
    }
    const Plain last = single.definition();
    expect_map(result, single.forward(), last.dst);
  }
}

// What a thread's memory holds before does not matter, padding channels included.
TEST_P(WinogradTest, ThreadsMemoryMayHoldAnything) {
  set_thread_count(1);
  for (const auto& [in, out] : {std::pair{93, 320}, {320, 93}}) {  // in one pass all rows of weights fit
    Problem problem(shape(1, in, out, 6));
    const FloatBuffer dst = problem.forward(), diff_src = problem.backward();
    const auto fill = [&, count = problem.make().thread_scratch_count()] {
      std::fill_n(thread_memory(count), count, std::numeric_limits<float>::quiet_NaN());
    };
    fill();
    EXPECT_TRUE(same_bits(problem.forward().span(), dst.span())) << problem.shape.text();
    fill();
    EXPECT_TRUE(same_bits(problem.backward().span(), diff_src.span())) << problem.shape.text();
  }
}

// Partial sums, one, two and more of them: close, and the same bits for any number of threads.
TEST_P(WinogradTest, GradientOfPartialSums) {
  for (const int64_t images : {1, 13, 33, 129}) {
    Problem problem(shape(images, 5, 6, pooled() ? 32 : 16));
    const Plain wanted = problem.definition();
    set_thread_count(1);
    const FloatBuffer found = problem.gradient(0);
    EXPECT_LT(relative_error(found.span(), wanted.gradient), kTolerance) << images;
    for (const int threads : {1, 2, 3, 8}) {
      set_thread_count(threads);
      EXPECT_TRUE(same_bits(problem.gradient(0).span(), found.span()))
          << images << ", " << threads << " threads";
    }
  }
}

TEST_P(WinogradTest, GradientSharedByPoints) {
  Problem problem(shared_by_points(33, pooled() ? 10 : 5));
  const int64_t step = 19;
  const Plain wanted(problem.shape, problem.src, problem.diff_dst, problem.plain, step);
  set_thread_count(1);
  const FloatBuffer found = problem.gradient(0);
  const auto row = static_cast<size_t>(problem.shape.in * 9);
  for (int64_t o = 0; o < problem.shape.out; o += step) {
    const size_t at = static_cast<size_t>(o) * row;
    EXPECT_LT(relative_error(found.span().subspan(at, row), std::span(wanted.gradient).subspan(at, row)),
              kTolerance)
        << "output channel " << o;
  }
  for (const int threads : {2, 3}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(problem.gradient(0).span(), found.span())) << threads << " threads";
  }
}

TEST_P(WinogradTest, WorksWithMoreOrFewerThreadsThanItWasMadeFor) {
  Problem problem(shape(13, 12, 20, pooled() ? 24 : 12));
  const FloatBuffer expected = problem.forward();
  for (const int made_for : {1, 3})
    for (const int threads : {1, 2, 4}) {
      set_thread_count(made_for);
      const WinogradConvolution convolution = problem.make();
      const FloatBuffer gradient = problem.gradient(convolution, 0);
      set_thread_count(threads);
      FloatBuffer found = filled(problem.shape.result().count(), kUntouched);
      problem.forward_into(convolution, found.data(), {});
      EXPECT_TRUE(same_bits(found.span(), expected.span())) << made_for << ", " << threads;
      EXPECT_TRUE(same_bits(problem.gradient(convolution, 0).span(), gradient.span()))
          << made_for << ", " << threads;
    }
}

TEST_P(WinogradTest, ChangedWeightsArePickedUp) {
  Problem problem(shape(2, 12, 20, 8));
  problem.forward();
  problem.backward();
  const auto expect_new_results = [&] {
    const Plain wanted = problem.definition();
    expect_map(problem.shape.result(), problem.forward(), wanted.dst);
    expect_map(problem.shape.source(), problem.backward(), wanted.diff_src);
  };
  for (float& v : problem.plain.span()) v = 0.3f - v;
  problem.weights.set(problem.plain.data());  // other values in the same place
  expect_new_results();
  problem.plain = normal(static_cast<int64_t>(problem.plain.size()), 4);
  problem.weights.set(problem.plain.data());
  expect_new_results();
}

INSTANTIATE_TEST_SUITE_P(Blocks, WinogradTest,
                         testing::Combine(testing::Values(int64_t{8}, int64_t{16}), testing::Bool()),
                         [](const auto& made) {
                           return std::string(std::get<1>(made.param) ? "pooled" : "plain") + "_block" +
                                  std::to_string(std::get<0>(made.param));
                         });

}  // namespace
}  // namespace mdsm::engine::native
