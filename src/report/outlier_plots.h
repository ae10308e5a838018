// The pictures of `mdsm outliers`: how far the scores of outliers lie from those of ordinary images.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "eval/outliers.h"

namespace mdsm::report {

struct ScoredImages {
  std::string label;
  std::vector<eval::OutlierScore> scores;  // all kinds, in the same order for every set of images
};

// Both return SVG text. score: its place in the lists.
std::string score_histogram(const ScoredImages& inside, std::span<const ScoredImages> outside, size_t score);
std::string roc_plot(const ScoredImages& inside, const ScoredImages& outside);

}  // namespace mdsm::report
