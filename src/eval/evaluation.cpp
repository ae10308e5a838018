#include "eval/evaluation.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace mdsm::eval {
namespace {

using nlohmann::json;

json number(double value) { return std::isfinite(value) ? json(value) : json(); }

json estimate_json(const Estimate& found) {
  return {{"value", number(found.value)},
          {"standard_error", number(found.standard_error)},
          {"standard_deviation", number(found.deviation)}};
}

constexpr uint64_t kMostStream = uint64_t{1} << 61;  // apart from the subsets of the kernel distance

// At most so many rows. By chance: data sets are often sorted by class.
FeatureSet some_of(const FeatureSet& set, int64_t most, uint64_t seed, uint64_t side) {
  FeatureSet part{std::min(set.n, most), set.dimensions, 0, {}, {}};
  if (part.n == set.n) {
    part.features = set.features;
    return part;
  }
  const auto order = permutation({seed, Purpose::shuffle, kMostStream + side}, static_cast<uint32_t>(set.n));
  for (int64_t i = 0; i < part.n; ++i) {
    const auto first = set.features.begin() + order[static_cast<size_t>(i)] * set.dimensions;
    part.features.insert(part.features.end(), first, first + set.dimensions);
  }
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

// Share of the images in each class, by the largest probability.
json shares(const FeatureSet& set) {
  std::vector<double> share(static_cast<size_t>(set.classes), 0);
  for (int64_t i = 0; i < set.n; ++i) {
    const auto first = set.probabilities.begin() + i * set.classes;
    share[static_cast<size_t>(std::max_element(first, first + set.classes) - first)] +=
        1 / static_cast<double>(set.n);
  }
  return share;
}

// Share of the images of which the classifier is not sure: no class has this probability.
constexpr double kSure = 0.8;

double doubtful(const FeatureSet& set) {
  int64_t count = 0;
  for (int64_t i = 0; i < set.n; ++i) {
    const auto first = set.probabilities.begin() + i * set.classes;
    count += *std::max_element(first, first + set.classes) < static_cast<float>(kSure);
  }
  return static_cast<double>(count) / static_cast<double>(set.n);
}

json classes_json(const FeatureSet& samples, const EvaluationReference& reference) {
  json values = {{"shares", shares(samples)},
                 {"n", samples.n},
                 {"doubtful", doubtful(samples)},
                 {"doubtful_below", kSure}};
  if (!reference.set) return values;
  values["shares_reference"] = shares(*reference.set);
  values["doubtful_reference"] = doubtful(*reference.set);
  return values;
}

int64_t kid_size(int64_t samples, int64_t real, const EvaluationOptions& options) {
  return options.kid_size > 0 ? options.kid_size
                              : std::max<int64_t>(2, std::min<int64_t>(1000, std::min(samples, real) / 2));
}

json kid_json(const FeatureSet& samples, const FeatureSet& real, const EvaluationOptions& options) {
  const int64_t size = kid_size(samples.n, real.n, options);
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
      precision_recall(some_of(real, options.most, options.seed, 0),
                       some_of(samples, options.most, options.seed, 1), options.neighbours);
  return {{"precision", found.precision},
          {"precision_standard_error", found.precision_error},
          {"recall", found.recall},
          {"recall_standard_error", found.recall_error},
          {"k", found.k},
          {"n", found.generated},
          {"n_reference", found.real},
          {"seed", options.seed},
          {"convention",
           "balls to the k-th neighbour, binomial standard errors; images beyond the most "
           "that are used are left out by chance"}};
}

}  // namespace

json left_out(int64_t samples, int64_t real, const EvaluationOptions& options) {
  json reasons = json::object();
  const int64_t size = kid_size(samples, real, options), smaller = std::min(samples, real);
  if (size < 2 || size > smaller)
    reasons["kid"] = fmt::format("needs {} images of each, there are {} and {}", size, samples, real);
  if (options.neighbours >= std::min(smaller, options.most))
    reasons["precision_recall"] =
        fmt::format("neighbour {} needs more than {} and {} images", options.neighbours,
                    std::min(samples, options.most), std::min(real, options.most));
  return reasons;
}

json evaluate(const FeatureSet& samples, const EvaluationReference& reference,
              const EvaluationOptions& options) {
  json values = {{"fid", fid_json(samples, reference)}, {"left_out", json::object()}};
  if (samples.classes > 1) {
    values["inception_score"] = score_json(samples, options.splits);
    values["classes"] = classes_json(samples, reference);
  } else {
    values["left_out"]["inception_score"] = "the feature network gives no class probabilities";
  }
  if (!reference.set) {
    for (const char* name : {"kid", "precision_recall"})
      values["left_out"][name] = "a statistics file holds no single features; needs --data";
    return values;
  }
  values["left_out"].update(left_out(samples.n, reference.set->n, options));
  if (!values["left_out"].contains("kid")) values["kid"] = kid_json(samples, *reference.set, options);
  if (!values["left_out"].contains("precision_recall"))
    values["precision_recall"] = manifold_json(samples, *reference.set, options);
  return values;
}

}  // namespace mdsm::eval
