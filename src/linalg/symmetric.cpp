// The square root of a*b is never formed: a = l*l', and the eigenvalues of l'*b*l are those of a*b, so that
// one symmetric problem without eigenvectors gives the trace. Eigenvalues and products of a matrix with a
// vector are Eigen's (docs/design/linalg.md has the measurement), in one thread, so that the number of
// threads changes nothing.
#define EIGEN_DONT_PARALLELIZE
#include "linalg/symmetric.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "linalg/gemm.h"

namespace mdsm::linalg {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Of the largest: eigenvalues that may be negative by rounding, and what elimination may leave over. Files in
// float32 come near.
constexpr double kRoundingShare = 1e-6, kResidualShare = 1e-5;

using View = Eigen::Map<const Eigen::MatrixXd>;  // both halves are filled: rows and columns are the same

[[noreturn]] void fail_indefinite() {
  fail("use statistics of features", "a matrix that is no covariance: it has negative eigenvalues");
}

// What elimination left over, in the rows that were no pivots, must be rounding error.
void check_residual(const View& whole, const Eigen::MatrixXd& l, const std::vector<Eigen::Index>& rows) {
  Eigen::MatrixXd residual = -l * l.transpose();
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < rows.size(); ++j)
      residual(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) += whole(rows[i], rows[j]);
  if (residual.cwiseAbs().maxCoeff() > kResidualShare * whole.cwiseAbs().maxCoeff()) fail_indefinite();
}

}  // namespace

std::vector<double> symmetric_eigenvalues(const Matrix& a, int64_t d) {
  for (const double value : a)
    if (!std::isfinite(value)) fail("check the features", "a matrix with the entry {}", value);
  if (d == 0) return {};
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(View(a.data(), d, d), Eigen::EigenvaluesOnly);
  if (solver.info() != Eigen::Success)
    fail("check the features", "the eigenvalues of a {0}x{0} matrix do not settle", d);
  return {solver.eigenvalues().begin(), solver.eigenvalues().end()};
}

// Column by column: what is left of the pivot's column after the columns before. Rows come in the order in
// which they were pivots, so that l is a triangle until the end. Eigen's own LDLT takes its pivots from the
// diagonal as it was at the start, which finds no rank: the second of two equal features would be divided by
// rounding error.
LowRankRoot semidefinite_root(const Matrix& a, int64_t d) {
  const View whole(a.data(), d, d);
  std::vector<Eigen::Index> order(static_cast<size_t>(d));
  std::iota(order.begin(), order.end(), 0);
  Eigen::VectorXd left = whole.diagonal(), column(d);  // left: of the diagonal
  const double enough = std::max(0.0, left.maxCoeff()) * kEpsilon * static_cast<double>(d);
  Eigen::MatrixXd l = Eigen::MatrixXd::Zero(d, d);
  Eigen::Index k = 0, pivot = 0;
  for (; k < d; ++k) {
    const Eigen::Index n = d - k;
    const double largest = left.tail(n).maxCoeff(&pivot);
    if (!(largest > enough)) break;
    pivot += k;
    std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(pivot)]);
    std::swap(left[k], left[pivot]);
    l.row(k).head(k).swap(l.row(pivot).head(k));
    for (Eigen::Index i = k; i < d; ++i)
      column[i] = whole(order[static_cast<size_t>(i)], order[static_cast<size_t>(k)]);
    column.tail(n).noalias() -= l.block(k, 0, n, k) * l.row(k).head(k).transpose();
    // Impossible in what is semi-definite: only rounding is left.
    if (column.tail(n).cwiseAbs().maxCoeff() > 2 * largest) break;
    l.col(k).tail(n) = column.tail(n) / std::sqrt(largest);
    left.tail(n) -= l.col(k).tail(n).cwiseAbs2();
  }
  if (k < d) check_residual(whole, l.block(k, 0, d - k, k), {order.begin() + k, order.end()});
  LowRankRoot root{k, std::vector<double>(static_cast<size_t>(d * k))};
  for (Eigen::Index i = 0; i < d; ++i)
    Eigen::Map<Eigen::RowVectorXd>(root.l.data() + order[static_cast<size_t>(i)] * k, k) = l.row(i).head(k);
  return root;
}

bool cholesky(Matrix& a, int64_t d) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<RowMajor> whole(a.data(), d, d);
  Eigen::Ref<RowMajor> in_place(whole);
  const Eigen::LLT<Eigen::Ref<RowMajor>> llt(in_place);
  return llt.info() == Eigen::Success && (whole.diagonal().array() > 0).all();  // NaN is not above 0
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
  const auto values = symmetric_eigenvalues(inner, rank);  // smallest first
  if (rank > 0 && values.front() < -kRoundingShare * std::max(values.back(), 0.0)) fail_indefinite();
  double trace = 0;
  for (const double value : values) trace += std::sqrt(std::max(value, 0.0));
  return trace;
}

}  // namespace mdsm::linalg
