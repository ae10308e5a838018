#include "linalg/symmetric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"
#include "linalg/gemm.h"

namespace mdsm::linalg {
namespace {

Matrix drawn(int64_t rows, int64_t columns, uint64_t index) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  RandomStream(9, Purpose::check, index).fill_normal(values);
  return {values.begin(), values.end()};
}

// x' * x of rank at most `rows`
Matrix gram(int64_t rows, int64_t d, uint64_t index) {
  const Matrix x = drawn(rows, d, index);
  Matrix product(static_cast<size_t>(d * d));
  multiply(d, d, rows, Factor<double>{x.data(), d, Op::transposed}, Factor<double>{x.data(), d},
           product.data(), d);
  return product;
}

// The chain of springs: 2 on the diagonal and -1 beside it has the eigenvalues 2 - 2 cos(pi k / (d + 1)).
TEST(Symmetric, EigenvaluesOfAChain) {
  const int64_t d = 50;
  Matrix a(static_cast<size_t>(d * d));
  for (int64_t i = 0; i < d; ++i) {
    a[static_cast<size_t>(i * d + i)] = 2;
    if (i + 1 < d) a[static_cast<size_t>(i * d + i + 1)] = a[static_cast<size_t>((i + 1) * d + i)] = -1;
  }
  const auto values = symmetric_eigenvalues(a, d);
  for (int64_t k = 1; k <= d; ++k)
    EXPECT_NEAR(values[static_cast<size_t>(k - 1)],
                2 - 2 * std::cos(std::numbers::pi * static_cast<double>(k) / static_cast<double>(d + 1)),
                1e-13);
}

// A mirrored diagonal matrix: h * diag * h with h = 1 - 2 u u' has the diagonal's entries as eigenvalues,
// also where they repeat.
TEST(Symmetric, EigenvaluesOfAMirroredDiagonal) {
  const int64_t d = 33;
  Matrix u = drawn(1, d, 1), a(static_cast<size_t>(d * d));
  double norm = 0;
  for (const double value : u) norm += value * value;
  for (double& value : u) value /= std::sqrt(norm);
  std::vector<double> wanted;
  for (int64_t k = 0; k < d; ++k) wanted.push_back(static_cast<double>(k / 3) - 4);
  const auto mirror = [&](int64_t i, int64_t j) {
    return (i == j ? 1.0 : 0.0) - 2 * u[static_cast<size_t>(i)] * u[static_cast<size_t>(j)];
  };
  for (int64_t i = 0; i < d; ++i)
    for (int64_t j = 0; j < d; ++j)
      for (int64_t k = 0; k < d; ++k)
        a[static_cast<size_t>(i * d + j)] += mirror(i, k) * wanted[static_cast<size_t>(k)] * mirror(k, j);
  const auto values = symmetric_eigenvalues(a, d);
  for (size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(values[k], wanted[k], 1e-12) << k;
}

TEST(Symmetric, TraceAndSquaresOfTheEigenvalues) {
  const int64_t d = 120;
  const Matrix a = gram(200, d, 2);
  double trace = 0, squares = 0, sum = 0, sum_squares = 0;
  for (int64_t i = 0; i < d; ++i) trace += a[static_cast<size_t>(i * d + i)];
  for (const double value : a) squares += value * value;
  for (const double value : symmetric_eigenvalues(a, d)) {
    sum += value;
    sum_squares += value * value;
  }
  EXPECT_NEAR(sum / trace, 1, 1e-13);
  EXPECT_NEAR(sum_squares / squares, 1, 1e-13);
}

TEST(Symmetric, RootGivesTheMatrixBackAndItsRank) {
  const int64_t d = 40;
  for (const int64_t rank : {int64_t{7}, int64_t{100}}) {
    const Matrix a = gram(rank, d, 3);
    const LowRankRoot root = semidefinite_root(a, d);
    EXPECT_EQ(root.rank, std::min(rank, d));
    for (int64_t i = 0; i < d; ++i)
      for (int64_t j = 0; j < d; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < root.rank; ++k)
          sum +=
              root.l[static_cast<size_t>(i * root.rank + k)] * root.l[static_cast<size_t>(j * root.rank + k)];
        EXPECT_NEAR(sum, a[static_cast<size_t>(i * d + j)], 1e-11);
      }
  }
}

// Every feature twice, the largest first: a pivot taken from the diagonal as it was would be rounding error.
TEST(Symmetric, RootOfRepeatedFeatures) {
  const int64_t d = 60;
  const Matrix x = drawn(100, d / 2, 7);
  Matrix twice, a(static_cast<size_t>(d * d));
  for (size_t i = 0; i < x.size(); ++i)
    for (int copy = 0; copy < 2; ++copy)
      twice.push_back(x[i] / (1 + static_cast<double>(i % static_cast<size_t>(d / 2))));
  multiply(d, d, 100, Factor<double>{twice.data(), d, Op::transposed}, Factor<double>{twice.data(), d},
           a.data(), d);
  EXPECT_EQ(semidefinite_root(a, d).rank, d / 2);
  double trace = 0;
  for (int64_t i = 0; i < d; ++i) trace += a[static_cast<size_t>(i * d + i)];
  EXPECT_NEAR(trace_of_product_root(a, a, d) / trace, 1, 1e-9);
}

TEST(Symmetric, ThreadsMakeNoDifference) {
  const Matrix a = gram(400, 150, 8), b = gram(100, 150, 9);
  set_thread_count(1);
  const double one = trace_of_product_root(a, b, 150);
  set_thread_count(4);
  EXPECT_EQ(trace_of_product_root(a, b, 150), one);
  set_thread_count(0);
}

// root(a*a) = a, and root(c a * a) = root(c) a.
TEST(Symmetric, TraceOfTheRootOfAProduct) {
  const int64_t d = 30;
  for (const int64_t rank : {int64_t{5}, int64_t{60}}) {
    const Matrix a = gram(rank, d, 4);
    Matrix nine = a;
    double trace = 0;
    for (int64_t i = 0; i < d; ++i) trace += a[static_cast<size_t>(i * d + i)];
    for (double& value : nine) value *= 9;
    EXPECT_NEAR(trace_of_product_root(a, nine, d) / (3 * trace), 1, 1e-7);
  }
  EXPECT_EQ(trace_of_product_root(Matrix(900), gram(60, d, 4), d), 0);
}

// Negative eigenvalues beyond rounding, in either factor; low rank rounded to float32 is still fine.
TEST(Symmetric, RefusesWhatIsNotSemidefinite) {
  const Matrix one{1, 0, 0, 1}, odd{1, 2, 2, 1}, negative{-1, 0, 0, -1};
  for (const Matrix& bad : {odd, negative}) {
    EXPECT_THROW(trace_of_product_root(one, bad, 2), Error);
    EXPECT_THROW(trace_of_product_root(bad, one, 2), Error);
  }
  const int64_t d = 60;
  Matrix low = gram(20, d, 5), full = gram(200, d, 6), rounded = low;
  for (double& value : rounded) value = static_cast<double>(static_cast<float>(value));
  const double wanted = trace_of_product_root(low, full, d);
  EXPECT_NEAR(trace_of_product_root(rounded, full, d) / wanted, 1, 1e-2);
  EXPECT_NEAR(trace_of_product_root(full, rounded, d) / wanted, 1, 1e-2);
}

TEST(Symmetric, RefusesWhatIsNotFinite) { EXPECT_THROW(symmetric_eigenvalues({1, NAN, NAN, 1}, 2), Error); }

TEST(Symmetric, CholeskyGivesTheMatrixBack) {
  for (const int64_t d : {1, 2, 5, 17}) {
    const Matrix whole = gram(3 * d, d, 8);
    Matrix a = whole;
    const auto at = [d](int64_t i, int64_t j) { return static_cast<size_t>(i * d + j); };
    for (int64_t i = 0; i < d; ++i)
      for (int64_t j = i + 1; j < d; ++j) a[at(i, j)] = 77;  // not read, and left as it is
    ASSERT_TRUE(cholesky(a, d));
    for (int64_t i = 0; i < d; ++i)
      for (int64_t j = 0; j < d; ++j) {
        if (j > i) {
          EXPECT_EQ(a[at(i, j)], 77);
          continue;
        }
        double sum = 0;
        for (int64_t k = 0; k <= j; ++k) sum += a[at(i, k)] * a[at(j, k)];
        EXPECT_NEAR(sum, whole[at(i, j)], 1e-13 * static_cast<double>(3 * d)) << d;
      }
  }
}

TEST(Symmetric, CholeskyRefusesWhatIsNotPositiveDefinite) {
  Matrix singular = {1, 1, 1, 1}, indefinite = {1, 2, 2, 1}, no_number = {1, NAN, NAN, 1};
  EXPECT_FALSE(cholesky(singular, 2));
  EXPECT_FALSE(cholesky(indefinite, 2));
  EXPECT_FALSE(cholesky(no_number, 2));
}

}  // namespace
}  // namespace mdsm::linalg
