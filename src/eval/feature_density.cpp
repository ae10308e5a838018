#include "eval/feature_density.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/tensor.h"

namespace mdsm::eval {
namespace {

std::vector<float> as_floats(std::span<const double> values) { return {values.begin(), values.end()}; }

void append(std::vector<float>& to, std::span<const double> values) {
  to.insert(to.end(), values.begin(), values.end());
}

void check(const DensityNumbers& numbers, const std::string& where) {
  const size_t d = numbers.mean.size(), k = numbers.weight.size();
  const auto damaged = [&](const char* what) {
    fail("fit the detector again", "{}: a density of {}", where, what);
  };
  if (d < 1 || k < 1 || numbers.scale.size() != d || numbers.centre.size() != k * d ||
      numbers.factor.size() != k * d * d)
    damaged("sizes that do not fit");
  for (const auto* values :
       {&numbers.mean, &numbers.scale, &numbers.weight, &numbers.centre, &numbers.factor})
    if (find_non_finite(*values) >= 0) damaged("numbers that are not finite");
  if (std::ranges::any_of(numbers.weight, [](float w) { return w < 0 || w > 1.001f; }))
    damaged("wrong weights");
  for (size_t i = 0; i < k; ++i)
    for (size_t j = 0; j < d; ++j)
      if (!(numbers.factor[(i * d + j) * d + j] > 0)) damaged("variances that are not positive");
}

}  // namespace

FeatureDensity::FeatureDensity(const FeatureTable& features, const MixtureOptions& options)
    : mean_(static_cast<size_t>(features.columns)), scale_(static_cast<size_t>(features.columns)) {
  const double n = static_cast<double>(features.rows());
  const size_t d = mean_.size();
  for (size_t i = 0; i < features.values.size(); ++i) mean_[i % d] += features.values[i] / n;
  for (size_t i = 0; i < features.values.size(); ++i)
    scale_[i % d] += (features.values[i] - mean_[i % d]) * (features.values[i] - mean_[i % d]) / n;
  for (double& value : scale_) value = 1 / std::sqrt(std::max(value, 1e-24));
  mixture_ = GaussianMixture::fit(in_units(features), options);
}

FeatureDensity::FeatureDensity(const DensityNumbers& numbers, const std::string& where)
    : mean_(numbers.mean.begin(), numbers.mean.end()), scale_(numbers.scale.begin(), numbers.scale.end()) {
  check(numbers, where);
  const size_t d = mean_.size();
  std::vector<GaussianMixture::Part> parts;
  for (size_t i = 0; i < numbers.weight.size(); ++i) {
    const auto piece = [&](const std::vector<float>& from, size_t size) {
      return std::vector<double>(from.begin() + static_cast<std::ptrdiff_t>(i * size),
                                 from.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
    };
    parts.push_back({numbers.weight[i], piece(numbers.centre, d), piece(numbers.factor, d * d)});
  }
  mixture_ = GaussianMixture(std::move(parts));
}

std::vector<double> FeatureDensity::in_units(std::span<const double> features) const {
  std::vector<double> out(features.size());
  for (size_t j = 0; j < features.size(); ++j) out[j] = (features[j] - mean_[j]) * scale_[j];
  return out;
}

FeatureTable FeatureDensity::in_units(const FeatureTable& features) const {
  FeatureTable out{features.columns, {}};
  for (int64_t i = 0; i < features.rows(); ++i) {
    const auto row = in_units(features.row(i));
    out.values.insert(out.values.end(), row.begin(), row.end());
  }
  return out;
}

double FeatureDensity::strangeness(std::span<const double> features) const {
  return -mixture_.log_density(in_units(features));
}

std::vector<double> FeatureDensity::given_those_before(std::span<const double> features) const {
  const GaussianMixture::Part& part = mixture_.parts().front();
  std::vector<double> z = in_units(features);
  const size_t d = z.size();
  for (size_t i = 0; i < d; ++i) {  // L z = x - mean, from the top
    z[i] -= part.mean[i];
    for (size_t j = 0; j < i; ++j) z[i] -= part.factor[i * d + j] * z[j];
    z[i] /= part.factor[i * d + i];
  }
  return z;
}

DensityNumbers FeatureDensity::numbers() const {
  DensityNumbers out{as_floats(mean_), as_floats(scale_), {}, {}, {}};
  for (const GaussianMixture::Part& part : mixture_.parts()) {
    out.weight.push_back(static_cast<float>(part.weight));
    append(out.centre, part.mean);
    append(out.factor, part.factor);
  }
  return out;
}

}  // namespace mdsm::eval
