#include "linalg/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"
#include "core/threads.h"
#include "linalg/tile.h"

namespace mdsm::linalg {
namespace {

template <class T>
std::vector<T> drawn(size_t count, uint64_t index) {
  std::vector<float> values(count);
  RandomStream(5, Purpose::check, index).fill_normal(values);
  return {values.begin(), values.end()};
}

// Compared with the sum written out in long double, for both orders of both factors.
template <class T>
void compare(int64_t m, int64_t n, int64_t k, Op a_op, Op b_op, bool accumulate, bool parallel,
             double tolerance) {
  const bool at = a_op == Op::transposed, bt = b_op == Op::transposed;
  const int64_t a_stride = (at ? m : k) + 3, b_stride = (bt ? k : n) + 1, c_stride = n + 2;
  const auto a = drawn<T>(static_cast<size_t>((at ? k : m) * a_stride), 1);
  const auto b = drawn<T>(static_cast<size_t>((bt ? n : k) * b_stride), 2);
  auto c = drawn<T>(static_cast<size_t>(m * c_stride), 3);
  const auto before = c;
  if (parallel)
    parallel_multiply(m, n, k, Factor<T>{a.data(), a_stride, a_op}, Factor<T>{b.data(), b_stride, b_op},
                      c.data(), c_stride, accumulate);
  else
    multiply(m, n, k, Factor<T>{a.data(), a_stride, a_op}, Factor<T>{b.data(), b_stride, b_op}, c.data(),
             c_stride, accumulate);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < c_stride; ++j) {
      const auto at_c = static_cast<size_t>(i * c_stride + j);
      if (j >= n) {
        ASSERT_EQ(c[at_c], before[at_c]) << "written beyond the matrix";
        continue;
      }
      long double sum = accumulate ? before[at_c] : 0;
      for (int64_t p = 0; p < k; ++p)
        sum += static_cast<long double>(a[static_cast<size_t>(at ? p * a_stride + i : i * a_stride + p)]) *
               b[static_cast<size_t>(bt ? j * b_stride + p : p * b_stride + j)];
      ASSERT_NEAR(static_cast<double>(c[at_c]), static_cast<double>(sum),
                  tolerance * std::sqrt(static_cast<double>(k) + 1))
          << i << "," << j << " of " << m << "x" << n << "x" << k;
    }
}

TEST(Gemm, AgreesWithItsDefinition) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                                {3, 5, 0},
                                {12, 32, 7},
                                {13, 33, 300},
                                {97, 70, 20},
                                {5, 530, 259},
                                {100, 17, 513}})
    for (const Op a : {Op::plain, Op::transposed})
      for (const Op b : {Op::plain, Op::transposed}) {
        compare<float>(m, n, k, a, b, false, false, 4e-6);
        compare<float>(m, n, k, a, b, true, true, 4e-6);
        compare<double>(m, n, k, a, b, true, false, 1e-14);
        compare<double>(m, n, k, a, b, false, true, 1e-14);
      }
}

TEST(Gemm, ThreadsMakeNoDifference) {
  const int64_t m = 500, n = 130, k = 600;
  const auto a = drawn<float>(static_cast<size_t>(m * k), 1), b = drawn<float>(static_cast<size_t>(k * n), 2);
  std::vector<float> one(static_cast<size_t>(m * n)), four(one);
  const Factor<float> left{a.data(), k}, right{b.data(), n};
  set_thread_count(1);
  parallel_multiply(m, n, k, left, right, one.data(), n);
  set_thread_count(4);
  parallel_multiply(m, n, k, left, right, four.data(), n);
  set_thread_count(0);
  EXPECT_EQ(one, four);
}

template <class T>
void check_tile(const linalg::Tile<T>& tile, const char* isa) {
  const int64_t k = 19;
  ASSERT_LE(tile.rows * tile.columns, linalg::kMaxTile);
  const auto a = drawn<T>(static_cast<size_t>(k * tile.rows), 1),
             b = drawn<T>(static_cast<size_t>(k * tile.columns), 2);
  std::vector<T> out(static_cast<size_t>(tile.rows * tile.columns));
  tile.product(k, a.data(), b.data(), out.data());
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.columns; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(a[static_cast<size_t>(p * tile.rows + i)]) *
               static_cast<double>(b[static_cast<size_t>(p * tile.columns + j)]);
      EXPECT_NEAR(static_cast<double>(out[static_cast<size_t>(i * tile.columns + j)]), sum, 1e-5) << isa;
    }
}

TEST(Gemm, EveryTileOfThisCpu) {
  for (const Tiles* variant : tile_variants()) {
    check_tile(variant->single, variant->isa);
    check_tile(variant->dual, variant->isa);
  }
}

}  // namespace
}  // namespace mdsm::linalg
