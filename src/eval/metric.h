// Measures of samples against a reference, as rows of a table: FID, Inception score, class shares, KID,
// precision and recall. To add one: one source file with a class like those of metric_*.cpp, and one row in
// metrics.cpp (or metrics().add() in a program of one's own); its options, its line of text, its JSON and its
// columns of the table of checkpoints follow.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/options.h"
#include "core/registry.h"
#include "eval/quality.h"

namespace mdsm::eval {

// The images samples are compared with, or only their statistics from a file.
struct EvaluationReference {
  FeatureStatistics statistics;
  std::optional<FeatureSet> set;
};

// How much there is to measure, known before the features are.
struct EvaluationSizes {
  int64_t samples = 0;
  std::optional<int64_t> reference;  // none: only statistics
  std::optional<int64_t> classes;    // none: not known yet
};

// What one measure has found.
class MetricValue {
 public:
  virtual ~MetricValue() = default;
  virtual nlohmann::json to_json() const = 0;  // with what it depends on and its convention
  virtual std::string text() const = 0;        // a line or two for people, each with its line break
  // One text for each of the metric's columns.
  virtual std::vector<std::string> cells() const { return {}; }
  // Where lower is better: the number by which checkpoints are compared.
  virtual std::optional<double> rank() const { return std::nullopt; }
};

// A measure with its options.
class Metric {
 public:
  struct Column {
    std::string title;
    int width = 0;
  };
  virtual ~Metric() = default;
  virtual void declare(OptionSet& /*options*/) {}
  // Why it cannot be computed; nothing where it can. An empty reason goes without saying.
  virtual std::optional<std::string> obstacle(const EvaluationSizes& /*sizes*/) const { return std::nullopt; }
  virtual std::unique_ptr<MetricValue> compute(const FeatureSet& samples,
                                               const EvaluationReference& reference, uint64_t seed) const = 0;
  virtual std::vector<Column> columns() const { return {}; }  // of the table of checkpoints
};

struct MetricRow {
  std::string name;  // its key in the JSON
  std::function<std::unique_ptr<Metric>()> make;
};
Registry<MetricRow>& metrics();

// All measures of one set of samples.
struct Evaluation {
  std::vector<std::pair<std::string, std::unique_ptr<MetricValue>>> values;  // by name, in the table's order
  std::vector<std::pair<std::string, std::string>> left_out;                 // name and reason

  const MetricValue* find(const std::string& name) const;
  std::optional<double> rank() const;  // of the first that has one
};
nlohmann::json to_json(const Evaluation& evaluation);
std::string text(const Evaluation& evaluation);

// Every metric of the table, with its options.
class Metrics {
 public:
  Metrics();
  void declare(OptionSet& options);
  // Measures that need more images than there are: name and reason.
  std::vector<std::pair<std::string, std::string>> obstacles(const EvaluationSizes& sizes) const;
  Evaluation evaluate(const FeatureSet& samples, const EvaluationReference& reference, uint64_t seed) const;
  // Columns of the table of checkpoints, and the cells of a row; "-" where a metric was left out.
  std::vector<Metric::Column> columns() const;
  std::vector<std::string> cells(const Evaluation& evaluation) const;

 private:
  std::vector<std::pair<std::string, std::unique_ptr<Metric>>> all_;
};

// Value, standard error and standard deviation; null where one is not finite.
nlohmann::json estimate_json(const Estimate& found);

// For metrics that compare images one by one.
inline constexpr const char* kOnlyStatistics = "a statistics file holds no single features; needs --data";

}  // namespace mdsm::eval
