#include "eval/outliers.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/threads.h"
#include "eval/mean.h"

namespace mdsm::eval {

namespace {

const ScoreOptions& checked(const ScoreOptions& options, int64_t images) {
  if (options.neighbours < 1 || images < options.neighbours)
    fail_usage("use fewer, or more images", "{} neighbours among {} fitting images", options.neighbours,
               images);
  return options;
}

}  // namespace

OutlierModel::OutlierModel(const OutlierFeatures& features, const ScoreOptions& options)
    : score_(features.score, checked(options, features.score.rows()).mixture),
      spectrum_(features.spectrum, kSpectrumDensity),
      fitted_(score_.in_units(features.score)),
      neighbours_(static_cast<size_t>(options.neighbours)) {}

double OutlierModel::mixture_score(std::span<const double> features) const {
  return score_.strangeness(features);
}

double OutlierModel::spectrum_score(std::span<const double> spectrum) const {
  return spectrum_.strangeness(spectrum);
}

double OutlierModel::neighbour_score(std::span<const double> features) const {
  const auto x = score_.in_units(features);
  std::vector<double> distances(static_cast<size_t>(fitted_.rows()));
  for (size_t i = 0; i < distances.size(); ++i)
    distances[i] = squared_distance<double>(x, fitted_.row(static_cast<int64_t>(i)));
  const auto place = distances.begin() + static_cast<int64_t>(neighbours_) - 1;
  std::nth_element(distances.begin(), place, distances.end());
  return std::sqrt(*place);
}

std::vector<OutlierScore> outlier_scores(const OutlierFeatures& features, const OutlierModel& model) {
  const int64_t n = features.score.rows();
  OutlierScore mixture{ScoreKind::mixture, std::vector<double>(static_cast<size_t>(n))};
  OutlierScore neighbours{ScoreKind::neighbours, std::vector<double>(static_cast<size_t>(n))};
  OutlierScore spectrum{ScoreKind::spectrum, std::vector<double>(static_cast<size_t>(n))};
  parallel_for(n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      mixture.values[static_cast<size_t>(i)] = model.mixture_score(features.score.row(i));
      neighbours.values[static_cast<size_t>(i)] = model.neighbour_score(features.score.row(i));
      spectrum.values[static_cast<size_t>(i)] = model.spectrum_score(features.spectrum.row(i));
    }
  });
  return {{ScoreKind::energy, features.energy},
          {ScoreKind::objective, features.objective},
          std::move(mixture),
          std::move(neighbours),
          std::move(spectrum)};
}

}  // namespace mdsm::eval
