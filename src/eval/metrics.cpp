#include "eval/metric.h"

#include <algorithm>
#include "core/json.h"

namespace mdsm::eval {

std::unique_ptr<Metric> make_fid();
std::unique_ptr<Metric> make_inception_score();
std::unique_ptr<Metric> make_classes();
std::unique_ptr<Metric> make_kid();
std::unique_ptr<Metric> make_precision_recall();

Registry<MetricRow>& metrics() {
  static Registry<MetricRow> table("metric", {{"fid", make_fid},
                                              {"inception_score", make_inception_score},
                                              {"classes", make_classes},
                                              {"kid", make_kid},
                                              {"precision_recall", make_precision_recall}});
  return table;
}

nlohmann::json estimate_json(const Estimate& found) {
  return {{"value", number_or_null(found.value)},
          {"standard_error", number_or_null(found.standard_error)},
          {"standard_deviation", number_or_null(found.deviation)}};
}

Metrics::Metrics() {
  for (const MetricRow& row : metrics()) all_.emplace_back(row.name, row.make());
}

void Metrics::declare(OptionSet& options) {
  for (const auto& [name, metric] : all_) metric->declare(options);
}

std::vector<std::pair<std::string, std::string>> Metrics::obstacles(const EvaluationSizes& sizes) const {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [name, metric] : all_)
    if (const auto reason = metric->obstacle(sizes); reason && !reason->empty())
      found.emplace_back(name, *reason);
  return found;
}

Evaluation Metrics::evaluate(const FeatureSet& samples, const EvaluationReference& reference,
                             uint64_t seed) const {
  EvaluationSizes sizes{samples.n, std::nullopt, samples.classes};
  if (reference.set) sizes.reference = reference.set->n;
  Evaluation found;
  found.left_out = obstacles(sizes);
  for (const auto& [name, metric] : all_)
    if (!metric->obstacle(sizes)) found.values.emplace_back(name, metric->compute(samples, reference, seed));
  return found;
}

std::vector<Metric::Column> Metrics::columns() const {
  std::vector<Metric::Column> columns;
  for (const auto& [name, metric] : all_)
    for (Metric::Column& column : metric->columns()) columns.push_back(std::move(column));
  return columns;
}

std::vector<std::string> Metrics::cells(const Evaluation& evaluation) const {
  std::vector<std::string> cells;
  for (const auto& [name, metric] : all_) {
    const MetricValue* value = evaluation.find(name);
    const std::vector<std::string> own =
        value ? value->cells() : std::vector<std::string>(metric->columns().size(), "-");
    cells.insert(cells.end(), own.begin(), own.end());
  }
  return cells;
}

const MetricValue* Evaluation::find(const std::string& name) const {
  const auto found = std::ranges::find(values, name, [](const auto& one) { return one.first; });
  return found == values.end() ? nullptr : found->second.get();
}

std::optional<double> Evaluation::rank() const {
  for (const auto& [name, value] : values)
    if (const auto rank = value->rank()) return rank;
  return std::nullopt;
}

nlohmann::json to_json(const Evaluation& evaluation) {
  nlohmann::json values = {{"left_out", nlohmann::json::object()}};
  for (const auto& [name, reason] : evaluation.left_out) values["left_out"][name] = reason;
  for (const auto& [name, value] : evaluation.values) values[name] = value->to_json();
  return values;
}

std::string text(const Evaluation& evaluation) {
  std::string lines;
  for (const auto& [name, value] : evaluation.values) lines += value->text();
  return lines;
}

}  // namespace mdsm::eval
