#include "eval/mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.h"
#include "core/log_sum.h"
#include "core/random.h"
#include "eval/mean.h"
#include "linalg/symmetric.h"

namespace mdsm::eval {
namespace {

// First centres far apart: each is drawn with probability proportional to the squared distance to those
// before it. Shares: 1 for the nearest centre.
std::vector<double> first_shares(const FeatureTable& data, int64_t components, RandomStream stream) {
  const auto n = static_cast<size_t>(data.rows());
  std::vector<size_t> nearest(n);
  std::vector<double> distance(n, std::numeric_limits<double>::infinity());
  size_t centre = stream.below(n);
  for (int64_t c = 0; c < components; ++c) {
    double total = 0;
    for (size_t i = 0; i < n; ++i) {
      const double d =
          squared_distance(data.row(static_cast<int64_t>(i)), data.row(static_cast<int64_t>(centre)));
      if (d < distance[i]) distance[i] = d, nearest[i] = static_cast<size_t>(c);
      total += distance[i];
    }
    double left = stream.uniform() * total;
    centre = 0;
    while (centre + 1 < n && left >= distance[centre]) left -= distance[centre++];
  }
  std::vector<double> shares(n * static_cast<size_t>(components));
  for (size_t i = 0; i < n; ++i) shares[i * static_cast<size_t>(components) + nearest[i]] = 1;
  return shares;
}

std::vector<double> variances(const FeatureTable& data) {
  const auto d = static_cast<size_t>(data.columns);
  const double n = static_cast<double>(data.rows());
  std::vector<double> mean(d), variance(d);
  for (size_t i = 0; i < data.values.size(); ++i) mean[i % d] += data.values[i] / n;
  for (size_t i = 0; i < data.values.size(); ++i)
    variance[i % d] += (data.values[i] - mean[i % d]) * (data.values[i] - mean[i % d]) / n;
  return variance;
}

}  // namespace

GaussianMixture::GaussianMixture(std::vector<Part> parts) : parts_(std::move(parts)) {
  for (Part& part : parts_) normalise(part);
}

void GaussianMixture::normalise(Part& part) {
  const size_t d = part.mean.size();
  double log_det = 0;
  for (size_t j = 0; j < d; ++j) log_det += std::log(part.factor[j * d + j]);
  part.log_scale =
      std::log(part.weight) - log_det - static_cast<double>(d) / 2 * std::log(2 * std::numbers::pi);
}

double GaussianMixture::log_part(const Part& part, std::span<const double> x) const {
  const size_t d = x.size();
  std::vector<double> z(d);  // L⁻¹ (x - mean)
  double sum = 0;
  for (size_t i = 0; i < d; ++i) {
    z[i] = x[i] - part.mean[i];
    for (size_t k = 0; k < i; ++k) z[i] -= part.factor[i * d + k] * z[k];
    z[i] /= part.factor[i * d + i];
    sum += z[i] * z[i];
  }
  return part.log_scale - sum / 2;
}

double GaussianMixture::log_density(std::span<const double> x) const {
  std::vector<double> logs;
  for (const Part& part : parts_) logs.push_back(log_part(part, x));
  return log_sum_exp(logs);
}

// A part that no row belongs to: it stays without weight.
void GaussianMixture::drop(Part& part, size_t dimensions) {
  part.weight = 0;
  part.log_scale = -std::numeric_limits<double>::infinity();
  part.mean.assign(dimensions, 0);
  part.factor.assign(dimensions * dimensions, 0);
  for (size_t j = 0; j < dimensions; ++j) part.factor[j * dimensions + j] = 1;
}

// shares (rows x parts): the probability of each part given the row.
void GaussianMixture::expect(const FeatureTable& data, std::vector<double>& shares) {
  double mean = 0;
  const size_t parts = parts_.size();
  for (int64_t i = 0; i < data.rows(); ++i) {
    const double whole = log_density(data.row(i));
    for (size_t c = 0; c < parts; ++c)
      shares[static_cast<size_t>(i) * parts + c] = std::exp(log_part(parts_[c], data.row(i)) - whole);
    mean += whole / static_cast<double>(data.rows());
  }
  history_.push_back(mean);
}

void GaussianMixture::maximise(const FeatureTable& data, const std::vector<double>& shares,
                               const std::vector<double>& floor, Covariance kind) {
  const size_t d = floor.size(), parts = parts_.size();
  for (size_t c = 0; c < parts; ++c) {
    Part& part = parts_[c];
    double sum = 0;
    std::vector<double> mean(d), covariance(d * d);
    for (int64_t i = 0; i < data.rows(); ++i) {
      const double share = shares[static_cast<size_t>(i) * parts + c];
      sum += share;
      for (size_t j = 0; j < d; ++j) mean[j] += share * data.row(i)[j];
    }
    part.weight = sum / static_cast<double>(data.rows());
    if (sum < 1e-9) {
      drop(part, d);
      continue;
    }
    for (double& value : mean) value /= sum;
    for (int64_t i = 0; i < data.rows(); ++i) {
      const double share = shares[static_cast<size_t>(i) * parts + c] / sum;
      for (size_t j = 0; j < d; ++j)
        for (size_t k = kind == Covariance::full ? 0 : j; k <= j; ++k)
          covariance[j * d + k] += share * (data.row(i)[j] - mean[j]) * (data.row(i)[k] - mean[k]);
    }
    for (size_t j = 0; j < d; ++j) covariance[j * d + j] += floor[j];
    if (!linalg::cholesky(covariance, static_cast<int64_t>(d)))
      fail("use --covariance diagonal or fewer --components", "a singular covariance");
    part.mean = std::move(mean);
    part.factor = std::move(covariance);
    normalise(part);
  }
}

GaussianMixture GaussianMixture::fit(const FeatureTable& data, const MixtureOptions& options) {
  const int64_t least = options.least_rows > 0 ? options.least_rows : data.columns + 1;
  if (data.rows() < std::max(options.components, least))
    fail("give more images, or use fewer --components",
         "{} rows are too few for a mixture of {} in {} dimensions", data.rows(), options.components,
         data.columns);
  for (const double value : data.values)
    if (!std::isfinite(value)) fail("check the model", "a feature is {}", value);
  std::vector<double> floor = variances(data);
  for (double& value : floor) value = options.floor * value + 1e-12;
  GaussianMixture mixture;
  mixture.parts_.resize(static_cast<size_t>(options.components));
  auto shares = first_shares(data, options.components, RandomStream(options.seed, Purpose::initialisation));
  for (int64_t i = 0; i < options.iterations; ++i) {
    mixture.maximise(data, shares, floor, options.covariance);
    mixture.expect(data, shares);
    const auto& h = mixture.history_;
    if (h.size() > 1 && h.back() - h[h.size() - 2] < options.tolerance) break;
  }
  return mixture;
}

}  // namespace mdsm::eval
