// The square root of a*b is never formed: a = l*l', and the eigenvalues of l'*b*l are those of a*b, so that
// one symmetric problem without eigenvectors gives the trace.
#include "linalg/symmetric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/threads.h"
#include "linalg/gemm.h"

namespace mdsm::linalg {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Of the largest: eigenvalues that may be negative by rounding, and what elimination may leave over. Files in
// float32 come near.
constexpr double kRoundingShare = 1e-6, kResidualShare = 1e-5;

[[noreturn]] void fail_indefinite() {
  fail("use statistics of features", "a matrix that is no covariance: it has negative eigenvalues");
}

struct Tridiagonal {
  std::vector<double> diagonal, beside;  // beside[i] couples i and i + 1; as long as the diagonal
};

double dot(const double* a, const double* b, int64_t n) {
  double sum[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) sum[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) sum[0] += a[i] * b[i];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

// Mirrors the column below entry `first` onto a multiple of e1; v becomes the mirror's vector with v'v = 2.
double householder(double* v, int64_t n) {
  const double scale =
      std::abs(*std::max_element(v, v + n, [](double a, double b) { return std::abs(a) < std::abs(b); }));
  if (scale == 0) return 0;
  for (int64_t i = 0; i < n; ++i) v[i] /= scale;
  const double norm = std::sqrt(dot(v, v, n)), alpha = v[0] > 0 ? -norm : norm;
  v[0] -= alpha;
  const double length = std::sqrt(dot(v, v, n) / 2);
  for (int64_t i = 0; i < n; ++i) v[i] /= length;
  return alpha * scale;
}

// a becomes mirrored from both sides column by column: a -= v*w' + w*v' with w = p - (v'p / 2) v, p = a*v.
Tridiagonal reduce(Matrix& a, int64_t d) {
  Tridiagonal t{std::vector<double>(static_cast<size_t>(d)), std::vector<double>(static_cast<size_t>(d))};
  std::vector<double> v(static_cast<size_t>(d)), w(static_cast<size_t>(d));
  for (int64_t k = 0; k < d; ++k) {
    t.diagonal[static_cast<size_t>(k)] = a[static_cast<size_t>(k * d + k)];
    const int64_t n = d - k - 1;
    if (n == 0) break;
    double* rest = a.data() + (k + 1) * d + k + 1;  // n x n, stride d
    std::copy_n(a.data() + k * d + k + 1, n, v.data());
    const double beside = n == 1 ? v[0] : householder(v.data(), n);
    t.beside[static_cast<size_t>(k)] = beside;
    if (n == 1 || beside == 0) continue;
    parallel_for(n, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) w[static_cast<size_t>(i)] = dot(rest + i * d, v.data(), n);
    });
    const double half = dot(v.data(), w.data(), n) / 2;
    for (int64_t i = 0; i < n; ++i) w[static_cast<size_t>(i)] -= half * v[static_cast<size_t>(i)];
    parallel_for(n, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double vi = v[static_cast<size_t>(i)], wi = w[static_cast<size_t>(i)];
        double* row = rest + i * d;
        for (int64_t j = 0; j < n; ++j)
          row[j] -= vi * w[static_cast<size_t>(j)] + wi * v[static_cast<size_t>(j)];
      }
    });
  }
  return t;
}

// One sweep of QL with the shift of the corner at `low` over the unreduced block low .. high.
void ql_sweep(std::vector<double>& d, std::vector<double>& e, size_t low, size_t high) {
  double g = (d[low + 1] - d[low]) / (2 * e[low]), r = std::hypot(g, 1.0);
  g = d[high] - d[low] + e[low] / (g + (g >= 0 ? r : -r));
  double s = 1, c = 1, p = 0;
  for (size_t i = high; i-- > low;) {
    const double f = s * e[i], b = c * e[i];
    r = std::hypot(f, g);
    e[i + 1] = r;
    if (r == 0) {  // the block has split by itself
      d[i + 1] -= p;
      e[high] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
  }
  d[low] -= p;
  e[low] = g;
  e[high] = 0;
}

}  // namespace

std::vector<double> symmetric_eigenvalues(Matrix a, int64_t d) {
  for (const double value : a)
    if (!std::isfinite(value)) fail("check the features", "a matrix with the entry {}", value);
  Tridiagonal t = reduce(a, d);
  auto& diagonal = t.diagonal;
  auto& beside = t.beside;
  const auto n = static_cast<size_t>(d);
  for (size_t low = 0; low < n; ++low)
    for (int sweep = 0;; ++sweep) {
      size_t high = low;
      for (; high + 1 < n; ++high)
        if (std::abs(beside[high]) <= kEpsilon * (std::abs(diagonal[high]) + std::abs(diagonal[high + 1])))
          break;
      if (high == low) break;
      if (sweep == 60) fail("check the features", "the eigenvalues of a {0}x{0} matrix do not settle", d);
      ql_sweep(diagonal, beside, low, high);
    }
  std::ranges::sort(diagonal);
  return diagonal;
}

LowRankRoot semidefinite_root(Matrix a, int64_t d) {
  const auto at = [&](int64_t i, int64_t j) -> double& { return a[static_cast<size_t>(i * d + j)]; };
  double largest = 0, scale = 0;
  for (int64_t i = 0; i < d; ++i) largest = std::max(largest, at(i, i));
  for (const double value : a) scale = std::max(scale, std::abs(value));
  const double enough = largest * kEpsilon * static_cast<double>(d);
  std::vector<double> columns;  // one of l after the other
  std::vector<double> column(static_cast<size_t>(d));
  LowRankRoot root;
  for (; root.rank < d; ++root.rank) {
    int64_t pivot = 0;
    for (int64_t i = 1; i < d; ++i)
      if (at(i, i) > at(pivot, pivot)) pivot = i;
    if (!(at(pivot, pivot) > enough)) break;
    double beside = 0;
    for (int64_t i = 0; i < d; ++i) beside = std::max(beside, std::abs(at(pivot, i)));
    if (beside > 2 * at(pivot, pivot)) break;  // impossible in what is semi-definite: only rounding is left
    const double length = 1 / std::sqrt(at(pivot, pivot));
    for (int64_t i = 0; i < d; ++i) column[static_cast<size_t>(i)] = at(pivot, i) * length;
    parallel_for(d, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double factor = column[static_cast<size_t>(i)];
        if (factor == 0) continue;
        for (int64_t j = 0; j < d; ++j) at(i, j) -= factor * column[static_cast<size_t>(j)];
      }
    });
    for (int64_t i = 0; i < d; ++i) at(pivot, i) = at(i, pivot) = 0;  // exactly, and never chosen again
    columns.insert(columns.end(), column.begin(), column.end());
  }
  for (const double value : a)
    if (std::abs(value) > kResidualShare * scale) fail_indefinite();
  root.l.resize(columns.size());
  for (int64_t k = 0; k < root.rank; ++k)
    for (int64_t i = 0; i < d; ++i)
      root.l[static_cast<size_t>(i * root.rank + k)] = columns[static_cast<size_t>(k * d + i)];
  return root;
}

double trace_of_product_root(const Matrix& a, const Matrix& b, int64_t d) {
  const LowRankRoot root = semidefinite_root(a, d);
  const int64_t rank = root.rank;
  Matrix bl(static_cast<size_t>(d * rank)), inner(static_cast<size_t>(rank * rank));
  parallel_multiply(d, rank, d, {b.data(), d}, {root.l.data(), rank}, bl.data(), rank);
  parallel_multiply(rank, rank, d, {root.l.data(), rank, Op::transposed}, {bl.data(), rank}, inner.data(),
                    rank);
  for (int64_t i = 0; i < rank; ++i)
    for (int64_t j = 0; j < i; ++j) {
      double& low = inner[static_cast<size_t>(i * rank + j)];
      double& high = inner[static_cast<size_t>(j * rank + i)];
      low = high = (low + high) / 2;
    }
  const auto values = symmetric_eigenvalues(std::move(inner), rank);  // smallest first
  if (rank > 0 && values.front() < -kRoundingShare * std::max(values.back(), 0.0)) fail_indefinite();
  double trace = 0;
  for (const double value : values) trace += std::sqrt(std::max(value, 0.0));
  return trace;
}

}  // namespace mdsm::linalg
