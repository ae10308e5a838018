// The Inception score: how sure the feature network is of each sample, and how varied its answers are.
#include <algorithm>

#include "eval/mean.h"
#include "eval/metric.h"

namespace mdsm::eval {
namespace {

struct ScoreValue : MetricValue {
  Estimate found;
  int64_t n = 0, splits = 0;

  nlohmann::json to_json() const override {
    nlohmann::json values = estimate_json(found);
    values["n"] = n;
    values["splits"] = splits;
    values["convention"] = "mean over consecutive splits";
    return values;
  }
  std::string text() const override {
    return fmt::format("Inception score {} (standard error over {} splits), n {}\n",
                       with_error(found.value, found.standard_error, 4), splits, n);
  }
  std::vector<std::string> cells() const override {
    return {with_error(found.value, found.standard_error, 4)};
  }
};

class InceptionScore : public Metric {
 public:
  void declare(OptionSet& options) override {
    options.add("splits", splits_, "parts of the Inception score").range(1, 1000);
  }
  std::optional<std::string> obstacle(const EvaluationSizes& sizes) const override {
    if (!sizes.classes || *sizes.classes > 1) return std::nullopt;
    return "the feature network gives no class probabilities";
  }
  std::unique_ptr<MetricValue> compute(const FeatureSet& samples, const EvaluationReference&,
                                       uint64_t) const override {
    auto value = std::make_unique<ScoreValue>();
    value->n = samples.n;
    value->splits = std::min(splits_, samples.n);
    value->found = inception_score(samples, value->splits);
    return value;
  }
  std::vector<Column> columns() const override { return {{"IS", 18}}; }

 private:
  int64_t splits_ = 10;
};

}  // namespace

std::unique_ptr<Metric> make_inception_score() { return std::make_unique<InceptionScore>(); }

}  // namespace mdsm::eval
