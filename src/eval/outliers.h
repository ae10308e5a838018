// Which images do not belong: numbers that a model gives to every image, and scores made of them.
//
//   energy       E(x + sigma0 n), as in the paper
//   objective    ‖x - x~ + sigma0² grad_x(x~)‖² / sigma0² at x~ = x + sigma0 n: the denoising error, the
//                paper's second try
//   mixture      minus the log density of the score norms ‖sigma0² grad_x(x + sigma n)‖ at several sigma,
//                under a Gaussian mixture
//   neighbours   their distance to the k-th nearest of the fitting images
//   spectrum     the same of the denoising residuals x - x~ + sigma0² grad_x(x~) by bands of spatial
//   frequency
//                and axes of colour, under one Gaussian
//
// The last three are fitted to ordinary images only. In every score, higher means stranger.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/energy_model.h"
#include "eval/mixture.h"

namespace mdsm::eval {

// What the density models see at each noise level: score norms, denoising errors ‖x - x~ + sigma0²
// grad_x(x~)‖ (how much of the noise the network mistakes), or both.
enum class ScoreFeatures { norms, errors, both };
constexpr auto enum_names(ScoreFeatures) {
  return names_of<ScoreFeatures>(
      {{ScoreFeatures::norms, "norms"}, {ScoreFeatures::errors, "errors"}, {ScoreFeatures::both, "both"}});
}

// Noise levels from text such as "0.1,0.2"; a usage error names the option --levels.
std::vector<double> parse_levels(const std::string& text);

struct FeatureOptions {
  ScoreFeatures kind = ScoreFeatures::both;
  std::vector<double> levels = {0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2};  // of the noise
  int64_t draws = 1;    // of the noise; every number is a mean over them
  int64_t batch = 128;  // images computed at a time; makes no difference to the result
  uint64_t seed = 0;    // of the noise; that of the features is the same for all images
};

struct OutlierFeatures {
  std::vector<double> energy, objective;  // (N)
  FeatureTable
      score;  // (N x features), natural logarithms: norms at each level, then errors at those above 0
  FeatureTable spectrum;  // (N x levels * bands), natural logarithms of mean squares
};

// done: images finished times evaluations each; may be empty.
OutlierFeatures outlier_features(engine::EnergyModel& engine, const data::Dataset& data,
                                 const FeatureOptions& options,
                                 const std::function<void(int64_t)>& done = {});
size_t feature_columns(const FeatureOptions& options);
int64_t evaluations_per_image(const FeatureOptions& options);

// The rows named, in that order.
OutlierFeatures chosen(const OutlierFeatures& from, std::span<const uint32_t> rows);

struct ScoreOptions {
  MixtureOptions mixture;
  int64_t neighbours = 5;
};

// Features in units of their spread over the fitting images.
class Standardised {
 public:
  explicit Standardised(const FeatureTable& features);
  std::vector<double> operator()(std::span<const double> features) const;
  const FeatureTable& fitted() const { return fitted_; }

 private:
  std::vector<double> mean_, scale_;
  FeatureTable fitted_;
};

// The density models on these features, in units of their spread over the fitting images.
class OutlierModel {
 public:
  OutlierModel(const OutlierFeatures& features, const ScoreOptions& options);

  double mixture_score(std::span<const double> features) const;
  double neighbour_score(std::span<const double> features) const;
  double spectrum_score(std::span<const double> spectrum) const;

 private:
  Standardised score_, spectrum_;
  GaussianMixture mixture_, gaussian_;
  size_t neighbours_;
};

enum class ScoreKind { energy, objective, mixture, neighbours, spectrum };
constexpr auto enum_names(ScoreKind) {
  return names_of<ScoreKind>({{ScoreKind::energy, "energy"},
                              {ScoreKind::objective, "objective"},
                              {ScoreKind::mixture, "mixture"},
                              {ScoreKind::neighbours, "neighbours"},
                              {ScoreKind::spectrum, "spectrum"}});
}

struct OutlierScore {
  ScoreKind kind = ScoreKind::energy;
  std::vector<double> values;  // (N)
};
// All kinds, in their order.
std::vector<OutlierScore> outlier_scores(const OutlierFeatures& features, const OutlierModel& model);

}  // namespace mdsm::eval
