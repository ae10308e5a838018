// Which classes the feature network sees in the samples, and of how many it is not sure.
#include <algorithm>

#include "eval/metric.h"

namespace mdsm::eval {
namespace {

// An image is doubtful, or low-confidence, when no class has this probability.
constexpr double kSure = 0.8;

struct ClassShares {
  std::vector<double> shares;  // of the images in each class, by the largest probability
  double doubtful = 0;         // share of the low-confidence images
};

ClassShares class_shares(const FeatureSet& set) {
  ClassShares found{std::vector<double>(static_cast<size_t>(set.classes), 0), 0};
  int64_t doubtful = 0;
  for (int64_t i = 0; i < set.n; ++i) {
    const auto first = set.probabilities.begin() + i * set.classes;
    const auto largest = std::max_element(first, first + set.classes);
    found.shares[static_cast<size_t>(largest - first)] += 1 / static_cast<double>(set.n);
    doubtful += *largest < static_cast<float>(kSure);
  }
  found.doubtful = static_cast<double>(doubtful) / static_cast<double>(set.n);
  return found;
}

struct ClassesValue : MetricValue {
  ClassShares samples;
  std::optional<ClassShares> reference;
  int64_t n = 0;

  nlohmann::json to_json() const override {
    nlohmann::json values = {
        {"shares", samples.shares}, {"n", n}, {"doubtful", samples.doubtful}, {"doubtful_below", kSure}};
    if (!reference) return values;
    values["shares_reference"] = reference->shares;
    values["doubtful_reference"] = reference->doubtful;
    return values;
  }
  std::string text() const override {
    const auto& shares = samples.shares;
    const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
    return fmt::format("classes         {} of {} seen; most {:.1f} % (class {}), least {:.1f} % (class {})\n",
                       std::count_if(shares.begin(), shares.end(), [](double share) { return share > 0; }),
                       shares.size(), 100 * *most, most - shares.begin(), 100 * *least,
                       least - shares.begin()) +
           fmt::format(
               "low confidence  {:.1f} % of the samples have no class of probability {:g}{}\n",
               100 * samples.doubtful, kSure,
               reference ? fmt::format(", {:.1f} % of the reference", 100 * reference->doubtful) : "");
  }
};

class Classes : public Metric {
 public:
  std::optional<std::string> obstacle(const EvaluationSizes& sizes) const override {
    if (!sizes.classes || *sizes.classes > 1) return std::nullopt;
    return "";  // the Inception score says why
  }
  std::unique_ptr<MetricValue> compute(const FeatureSet& samples, const EvaluationReference& reference,
                                       uint64_t) const override {
    auto value = std::make_unique<ClassesValue>();
    value->samples = class_shares(samples);
    if (reference.set) value->reference = class_shares(*reference.set);
    value->n = samples.n;
    return value;
  }
};

}  // namespace

std::unique_ptr<Metric> make_classes() { return std::make_unique<Classes>(); }

}  // namespace mdsm::eval
