// Symmetric matrices in float64, row-major with both halves filled: what the Fréchet distance and mixtures of
// Gaussians need.
#pragma once

#include <cstdint>
#include <vector>

namespace mdsm::linalg {

using Matrix = std::vector<double>;  // (d x d)

// Eigenvalues, smallest first. Throws when an entry is not finite.
std::vector<double> symmetric_eigenvalues(const Matrix& a, int64_t d);

// l (d x rank) with l * transposed(l) = a for positive semi-definite a: Cholesky with the largest pivot
// first, ended where what is left is rounding error. Throws when it is more: a is then not semi-definite.
// Row-major, rank columns.
struct LowRankRoot {
  int64_t rank = 0;
  std::vector<double> l;
};
LowRankRoot semidefinite_root(const Matrix& a, int64_t d);

// In place: the lower triangle l with l * transposed(l) = a. Reads the lower half of a and leaves the upper
// one alone. False where a is not positive definite; what it then holds means nothing.
bool cholesky(Matrix& a, int64_t d);

// Trace of the square root of a * b, for positive semi-definite a and b. Throws when they are not.
double trace_of_product_root(const Matrix& a, const Matrix& b, int64_t d);

}  // namespace mdsm::linalg
