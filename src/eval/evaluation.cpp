#include "eval/evaluation.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace mdsm {
namespace {

using nlohmann::json;

json number(double value) { return std::isfinite(value) ? json(value) : json(); }

json estimate_json(const Estimate& found) {
  return {{"value", number(found.value)},
          {"standard_error", number(found.standard_error)},
          {"standard_deviation", number(found.deviation)}};
}

FeatureSet first_of(const FeatureSet& set, int64_t most) {
  FeatureSet part{std::min(set.n, most), set.dimensions, 0, {}, {}};
  part.features.assign(set.features.begin(), set.features.begin() + part.n * set.dimensions);
  return part;
}

json fid_json(const FeatureSet& samples, const EvaluationReference& reference) {
  const FeatureStatistics statistics = statistics_of(samples);
  json values = {
      {"value", frechet_distance(statistics, reference.statistics)},
      {"n", samples.n},
      {"convention", "covariances divided by n - 1, float64; biased upwards, compare equal n only"}};
  values["n_reference"] = reference.statistics.n > 0 ? json(reference.statistics.n) : json();
  return values;
}

json score_json(const FeatureSet& samples, int64_t splits) {
  splits = std::min(splits, samples.n);
  json values = estimate_json(inception_score(samples, splits));
  values["n"] = samples.n;
  values["splits"] = splits;
  values["convention"] = "mean over consecutive splits";
  return values;
}

json kid_json(const FeatureSet& samples, const FeatureSet& real, const EvaluationOptions& options) {
  const int64_t smaller = std::min(samples.n, real.n);
  const int64_t size =
      options.kid_size > 0 ? options.kid_size : std::max<int64_t>(2, std::min<int64_t>(1000, smaller / 2));
  json values = estimate_json(kernel_distance(samples, real, options.kid_subsets, size, options.seed));
  values["n"] = samples.n;
  values["n_reference"] = real.n;
  values["subsets"] = options.kid_subsets;
  values["subset_size"] = size;
  values["seed"] = options.seed;
  values["convention"] = "kernel (x.y/d + 1)^3, unbiased, mean over subsets drawn without replacement";
  return values;
}

json manifold_json(const FeatureSet& samples, const FeatureSet& real, const EvaluationOptions& options) {
  const Manifolds found =
      precision_recall(first_of(real, options.most), first_of(samples, options.most), options.neighbours);
  return {{"precision", found.precision},
          {"precision_standard_error", found.precision_error},
          {"recall", found.recall},
          {"recall_standard_error", found.recall_error},
          {"k", found.k},
          {"n", found.generated},
          {"n_reference", found.real},
          {"convention", "balls to the k-th neighbour, binomial standard errors"}};
}

}  // namespace

json evaluate(const FeatureSet& samples, const EvaluationReference& reference, const EvaluationOptions& options) {
  json values = {{"fid", fid_json(samples, reference)}, {"left_out", json::object()}};
  if (samples.classes > 1)
    values["inception_score"] = score_json(samples, options.splits);
  else
    values["left_out"]["inception_score"] = "the feature network gives no class probabilities";
  if (!reference.set) {
    for (const char* name : {"kid", "precision_recall"})
      values["left_out"][name] = "a statistics file holds no single features; needs --data";
    return values;
  }
  values["kid"] = kid_json(samples, *reference.set, options);
  values["precision_recall"] = manifold_json(samples, *reference.set, options);
  return values;
}

}  // namespace mdsm
