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

#include <string>
#include <vector>

#include "eval/feature_density.h"
#include "eval/outlier_features.h"

namespace mdsm::eval {

// Of the spectrum: one Gaussian; there are many features, so the floor of their variances is higher.
constexpr MixtureOptions kSpectrumDensity = {.components = 1, .floor = 1e-3, .least_rows = 2};

struct ScoreOptions {
  MixtureOptions mixture;
  int64_t neighbours = 5;
};

// The density models on these features, in units of their spread over the fitting images.
class OutlierModel {
 public:
  OutlierModel(const OutlierFeatures& features, const ScoreOptions& options);

  double mixture_score(std::span<const double> features) const;
  double neighbour_score(std::span<const double> features) const;
  double spectrum_score(std::span<const double> spectrum) const;

 private:
  FeatureDensity score_, spectrum_;
  FeatureTable fitted_;  // of the score norms and errors
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
