// KID: the kernel distance of two sets of features, without FID's bias.
#include <algorithm>

#include "eval/mean.h"
#include "eval/metric.h"

namespace mdsm::eval {
namespace {

struct KidValue : MetricValue {
  Estimate found;
  int64_t n = 0, n_reference = 0, subsets = 0, size = 0;
  uint64_t seed = 0;

  nlohmann::json to_json() const override {
    nlohmann::json values = estimate_json(found);
    values["n"] = n;
    values["n_reference"] = n_reference;
    values["subsets"] = subsets;
    values["subset_size"] = size;
    values["seed"] = seed;
    values["convention"] = "kernel (x.y/d + 1)^3, unbiased, mean over subsets drawn without replacement";
    return values;
  }
  std::string text() const override {
    return fmt::format(
        "KID             {} (standard error over {} subsets of {}, seed {}; their deviation {:.6f})\n",
        with_error(found.value, found.standard_error, 6), subsets, size, seed, found.deviation);
  }
  std::vector<std::string> cells() const override {
    return {with_error(found.value, found.standard_error, 6)};
  }
};

class Kid : public Metric {
 public:
  void declare(OptionSet& options) override {
    options.add("kid-subsets", subsets_, "subsets of KID").range(1, 100000);
    options.add("kid-size", size_, "images in each; 0 = 1000, or half of the smaller set where that is less")
        .range(0, 100000);
  }
  std::optional<std::string> obstacle(const EvaluationSizes& sizes) const override {
    if (!sizes.reference) return kOnlyStatistics;
    const int64_t size = subset_size(sizes.samples, *sizes.reference);
    if (size >= 2 && size <= std::min(sizes.samples, *sizes.reference)) return std::nullopt;
    return fmt::format("needs {} images of each, there are {} and {}", size, sizes.samples, *sizes.reference);
  }
  std::unique_ptr<MetricValue> compute(const FeatureSet& samples, const EvaluationReference& reference,
                                       uint64_t seed) const override {
    auto value = std::make_unique<KidValue>();
    value->n = samples.n;
    value->n_reference = reference.set->n;
    value->subsets = subsets_;
    value->size = subset_size(samples.n, reference.set->n);
    value->seed = seed;
    value->found = kernel_distance(samples, *reference.set, subsets_, value->size, seed);
    return value;
  }
  std::vector<Column> columns() const override { return {{"KID", 24}}; }

 private:
  int64_t subset_size(int64_t samples, int64_t real) const {
    return size_ > 0 ? size_ : std::max<int64_t>(2, std::min<int64_t>(1000, std::min(samples, real) / 2));
  }

  int64_t subsets_ = 100, size_ = 0;
};

}  // namespace

std::unique_ptr<Metric> make_kid() { return std::make_unique<Kid>(); }

}  // namespace mdsm::eval
