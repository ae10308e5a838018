// Numbers that a model gives to every image, at several noise levels: what outlier scores are made of.
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
  int64_t draws = 1;     // of the noise; every number is a mean over them
  int64_t batch = 128;   // images computed at a time; makes no difference to the result
  uint64_t seed = 0;     // of the noise; that of the features is the same for all images
  bool energies = true;  // energy and objective too, one evaluation more
};

struct OutlierFeatures {
  std::vector<double> energy, objective;  // (N); 0 unless asked for
  FeatureTable
      score;  // (N x features), natural logarithms: norms at each level, then errors at those above 0
  FeatureTable spectrum;  // (N x levels * bands), natural logarithms of mean squares
  FeatureTable detail;    // (N x Spectrum::detail_columns()), the same of the image itself
};

// Told in the order of the images: squares of the residual x - x~ + sigma0² grad_x(x~) at each level, as
// means over channels and draws, (levels,H,W).
using OnMaps = std::function<void(int64_t image, std::span<const float> maps)>;

// done: images finished times evaluations each. Both functions may be empty.
OutlierFeatures outlier_features(engine::EnergyModel& engine, const data::Dataset& data,
                                 const FeatureOptions& options, const std::function<void(int64_t)>& done = {},
                                 const OnMaps& on_maps = {});
void check(const FeatureOptions& options);  // throws where they cannot be met
size_t feature_columns(const FeatureOptions& options);
int64_t evaluations_per_image(const FeatureOptions& options);

// The rows named, in that order.
OutlierFeatures chosen(const OutlierFeatures& from, std::span<const uint32_t> rows);

}  // namespace mdsm::eval
