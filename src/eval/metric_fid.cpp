// FID: the Fréchet distance of Gaussians fitted to the features.
#include "eval/metric.h"

namespace mdsm::eval {
namespace {

using nlohmann::json;

struct FidValue : MetricValue {
  double value = 0;
  int64_t n = 0, n_reference = 0;  // n_reference: 0 where a file does not say

  json to_json() const override {
    return {{"value", value},
            {"n", n},
            {"n_reference", n_reference > 0 ? json(n_reference) : json()},
            {"convention", "covariances divided by n - 1, float64; biased upwards, compare equal n only"}};
  }
  std::string text() const override {
    return fmt::format("FID             {:.4f}    n {}, reference {}\n", value, n,
                       n_reference > 0 ? fmt::format("n {}", n_reference) : "of unknown n");
  }
  std::vector<std::string> cells() const override { return {fmt::format("{:.4f}", value)}; }
  std::optional<double> rank() const override { return value; }
};

class Fid : public Metric {
 public:
  std::unique_ptr<MetricValue> compute(const FeatureSet& samples, const EvaluationReference& reference,
                                       uint64_t) const override {
    auto found = std::make_unique<FidValue>();
    found->value = frechet_distance(statistics_of(samples), reference.statistics);
    found->n = samples.n;
    found->n_reference = reference.statistics.n;
    return found;
  }
  std::vector<Column> columns() const override { return {{"FID", 10}}; }
};

}  // namespace

std::unique_ptr<Metric> make_fid() { return std::make_unique<Fid>(); }

}  // namespace mdsm::eval
