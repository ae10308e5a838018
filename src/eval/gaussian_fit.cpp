// With X the centred images as rows, C = Xᵀ X / n and K = X Xᵀ + n v = L Lᵀ:
//   (C + v)⁻¹ = (1 - Xᵀ K⁻¹ X) / v,   ln det(1 + C/v) = ln det K - n ln(n v),   tr C (C + v)⁻¹ = n - n v
//   ‖L⁻¹‖².
#include "eval/gaussian_fit.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "linalg/gemm.h"
#include "linalg/symmetric.h"

namespace mdsm::eval {
namespace {

// In place: L⁻¹ b, for b that is zero before `first`.
void solve_lower(const std::vector<double>& root, std::span<double> b, size_t first = 0) {
  const size_t n = b.size();
  for (size_t i = first; i < n; ++i) {
    double sum = b[i];
    for (size_t k = first; k < i; ++k) sum -= root[i * n + k] * b[k];
    b[i] = sum / root[i * n + i];
  }
}

double squares(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

}  // namespace

GaussianFit::GaussianFit(const data::Dataset& images, int64_t limit, double sigma)
    : n_(std::min(limit, images.size())),
      pixels_(images.image_shape().per_image()),
      variance_(sigma * sigma),
      mean_(static_cast<size_t>(pixels_)) {
  if (n_ < 1) fail_usage("give at least one", "no images to fit a Gaussian to");
  const double n = static_cast<double>(n_);
  const auto d = static_cast<size_t>(pixels_), rows = static_cast<size_t>(n_);
  std::vector<float> image(d);
  centred_.resize(rows * d);
  for (size_t i = 0; i < rows; ++i) {
    images.read(static_cast<int64_t>(i), image);
    for (size_t j = 0; j < d; ++j) centred_[i * d + j] = image[j], mean_[j] += image[j] / n;
  }
  for (size_t i = 0; i < rows * d; ++i) centred_[i] -= mean_[i % d];
  root_.resize(rows * rows);
  linalg::parallel_multiply(n_, n_, pixels_, {centred_.data(), pixels_},
                            {centred_.data(), pixels_, linalg::Op::transposed}, root_.data(), n_);
  for (size_t i = 0; i < rows; ++i) root_[i * rows + i] += n * variance_;
  if (!linalg::cholesky(root_, n_)) fail("check the images", "their covariance is not positive definite");
  double log_det = 0, inverse = 0;
  for (size_t i = 0; i < rows; ++i) {
    log_det += 2 * std::log(root_[i * rows + i]);
    std::vector<double> unit(rows);
    unit[i] = 1;
    solve_lower(root_, unit, i);
    inverse += squares(unit);
  }
  constant_ = log_det - n * std::log(n * variance_) - (n - n * variance_ * inverse);
}

double GaussianFit::tail(std::span<const float> x) const {
  const auto d = static_cast<size_t>(pixels_), rows = static_cast<size_t>(n_);
  std::vector<double> y(d), along(rows);
  for (size_t j = 0; j < d; ++j) y[j] = x[j] - mean_[j];
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < d; ++j) along[i] += centred_[i * d + j] * y[j];
  solve_lower(root_, along);
  return ((squares(y) - squares(along)) / variance_ + constant_) / 2;
}

}  // namespace mdsm::eval
