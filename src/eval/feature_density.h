// A density of features: a Gaussian mixture in units of their spread over the images that it was fitted to.
#pragma once

#include <span>
#include <vector>

#include "eval/mixture.h"

namespace mdsm::eval {

// All that a density consists of, as files hold it. d features, k Gaussians.
struct DensityNumbers {
  std::vector<float> mean, scale;  // (d) a feature's unit is 1 / scale
  std::vector<float> weight;       // (k)
  std::vector<float> centre;       // (k x d)
  std::vector<float> factor;       // (k x d x d) lower triangles L of the covariances L Lᵀ
};

class FeatureDensity {
 public:
  FeatureDensity() = default;
  FeatureDensity(const FeatureTable& features, const MixtureOptions& options);
  // Throws where the numbers are no density; `where` is for the message.
  FeatureDensity(const DensityNumbers& numbers, const std::string& where);

  size_t features() const { return mean_.size(); }
  double strangeness(std::span<const double> features) const;  // minus the log density
  std::vector<double> in_units(std::span<const double> features) const;
  // Under the first Gaussian, each feature against what those before it make likely: standard normal then.
  std::vector<double> given_those_before(std::span<const double> features) const;
  FeatureTable in_units(const FeatureTable& features) const;
  DensityNumbers numbers() const;

 private:
  std::vector<double> mean_, scale_;
  GaussianMixture mixture_;
};

}  // namespace mdsm::eval
