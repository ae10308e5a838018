// Precision and recall: which share of one set lies among the images of the other.
#include <algorithm>

#include "core/random.h"
#include "eval/mean.h"
#include "eval/metric.h"

namespace mdsm::eval {
namespace {

constexpr uint64_t kMostStream = uint64_t{1} << 61;  // apart from the subsets of the kernel distance

// At most so many rows, a random choice: data sets are often sorted by class.
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

struct PrecisionValue : MetricValue {
  Manifolds found;
  uint64_t seed = 0;

  nlohmann::json to_json() const override {
    return {
        {"precision", found.precision},
        {"precision_standard_error", found.precision_error},
        {"recall", found.recall},
        {"recall_standard_error", found.recall_error},
        {"k", found.k},
        {"n", found.generated},
        {"n_reference", found.real},
        {"seed", seed},
        {"convention",
         "balls to the k-th neighbour, binomial standard errors; images beyond the most that are used are "
         "left out at random"}};
  }
  std::string text() const override {
    return fmt::format("precision       {}, recall {}    k {}, n {}, reference n {}, seed {}\n", precision(),
                       recall(), found.k, found.generated, found.real, seed);
  }
  std::vector<std::string> cells() const override { return {precision(), recall()}; }

 private:
  std::string precision() const { return with_error(found.precision, found.precision_error, 4); }
  std::string recall() const { return with_error(found.recall, found.recall_error, 4); }
};

class PrecisionRecall : public Metric {
 public:
  void declare(OptionSet& options) override {
    options.add("k", neighbours_, "neighbours: the k of precision and recall")
        .range(1, 1000)
        .formerly("neighbours");
    options.add("most", most_, "images of each set in precision and recall, chosen at random").range(2, 1e6);
  }
  std::optional<std::string> obstacle(const EvaluationSizes& sizes) const override {
    if (!sizes.reference) return kOnlyStatistics;
    const int64_t samples = std::min(sizes.samples, most_), real = std::min(*sizes.reference, most_);
    if (neighbours_ < std::min(samples, real)) return std::nullopt;
    return fmt::format("neighbour {} needs more than {} and {} images", neighbours_, samples, real);
  }
  std::unique_ptr<MetricValue> compute(const FeatureSet& samples, const EvaluationReference& reference,
                                       uint64_t seed) const override {
    auto value = std::make_unique<PrecisionValue>();
    value->seed = seed;
    value->found = precision_recall(some_of(*reference.set, most_, seed, 0), some_of(samples, most_, seed, 1),
                                    neighbours_);
    return value;
  }
  std::vector<Column> columns() const override { return {{"precision", 18}, {"recall", 18}}; }

 private:
  int64_t neighbours_ = 3, most_ = 10000;
};

}  // namespace

std::unique_ptr<Metric> make_precision_recall() { return std::make_unique<PrecisionRecall>(); }

}  // namespace mdsm::eval
