// How alike two sets of images are, in a feature space: Fréchet distance, kernel distance, precision and
// recall, and the Inception score of one set. Pure functions in float64; docs/evaluation.md has the
// definitions.
#pragma once

#include <cstdint>
#include <vector>

#include "eval/features.h"
#include "linalg/symmetric.h"

namespace mdsm::eval {

struct FeatureStatistics {
  int64_t n = 0;           // images; 0 where a file does not say
  std::vector<double> mu;  // (d)
  linalg::Matrix sigma;    // (d x d), divided by n - 1

  int64_t dimensions() const { return static_cast<int64_t>(mu.size()); }
};

// At least two images.
FeatureStatistics statistics_of(const FeatureSet& set);
// .npz with mu and sigma (float64), as the field's FID programs read and write; ours also holds n.
FeatureStatistics read_statistics(const fs::path& path);
void write_statistics(const fs::path& path, const FeatureStatistics& statistics);

// |mu1 - mu2|^2 + tr(sigma1 + sigma2 - 2 root(sigma1 sigma2))
double frechet_distance(const FeatureStatistics& a, const FeatureStatistics& b);

struct Estimate {
  double value = 0, deviation = 0,
         standard_error = 0;    // over parts: mean, standard deviation, and that / root
  int64_t parts = 0, size = 0;  // number of parts and images in each
};

// exp of the mean KL divergence from p(y|x) to p(y), over `splits` consecutive parts.
Estimate inception_score(const FeatureSet& set, int64_t splits);

// Unbiased squared maximum mean discrepancy with the kernel (x.y / d + 1)^3, over random subsets of `size`
// images of each set, drawn without replacement.
Estimate kernel_distance(const FeatureSet& a, const FeatureSet& b, int64_t subsets, int64_t size,
                         uint64_t seed);

// The share of `generated` inside a ball around an image of `real` that reaches to its k-th neighbour there
// (precision), and the other way round (recall).
struct Manifolds {
  double precision = 0, recall = 0;
  double precision_error = 0, recall_error = 0;  // binomial standard errors
  int64_t k = 0, real = 0, generated = 0;
};
Manifolds precision_recall(const FeatureSet& real, const FeatureSet& generated, int64_t k);

}  // namespace mdsm::eval
