// All quality measures of one set of samples against a reference, as JSON that says how each was obtained.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "eval/quality.h"

namespace mdsm::eval {

struct EvaluationOptions {
  int64_t splits = 10;        // parts of the Inception score
  int64_t kid_subsets = 100;  // of the kernel distance
  int64_t kid_size = 0;       // images of each; 0 = 1000, or half of the smaller set where that is less
  int64_t neighbours = 3;     // k of precision and recall
  int64_t most = 10000;       // images of each set in precision and recall, drawn by chance
  uint64_t seed = 0;          // of the subsets and of those images
};

// The images samples are compared with, or only their statistics from a file.
struct EvaluationReference {
  FeatureStatistics statistics;
  std::optional<FeatureSet> set;
};

// Measures that need more images than there are, by name, with the reason.
nlohmann::json left_out(int64_t samples, int64_t real, const EvaluationOptions& options);

// Members fid, inception_score, kid, precision_recall; a measure that cannot be computed is left out, and
// "left_out" says why.
nlohmann::json evaluate(const FeatureSet& samples, const EvaluationReference& reference,
                        const EvaluationOptions& options);

}  // namespace mdsm::eval
