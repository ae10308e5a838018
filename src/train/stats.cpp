#include "train/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mdsm::train {
namespace {

using nlohmann::json;

constexpr int64_t kMaxSteps = int64_t{1} << 53;
constexpr const char *kLossQuarters = "loss_quarters", *kSavedQuarters = "quarters";

// JSON has no NaN: null stands for it.
double number_or_nan(const json& value) { return value.is_number() ? value.get<double>() : kNan; }

// Of a list, or of one value.
std::vector<double> numbers_or_nan(const json& values) {
  if (!values.is_array()) return {number_or_nan(values)};
  std::vector<double> numbers;
  for (const json& value : values) numbers.push_back(number_or_nan(value));
  return numbers;
}

// Its values, where the line is one of statistics.
std::optional<json> values_of(std::string_view line) {
  json values = parse_json(line);
  if (!values.is_object() || !values.contains("step") || !values["step"].is_number_unsigned() ||
      values["step"] > kMaxSteps)
    return std::nullopt;
  return values;
}

StatsRecord record_of(const json& values) {
  StatsRecord r;
  r.step = json_value<int64_t>(values.at("step"));
  const std::map<std::string, double*> fields = {
      {"loss", &r.loss}, {"loss_last", &r.loss_last},       {"grad_norm", &r.grad_norm},
      {"lr", &r.lr},     {"images_per_s", &r.images_per_s}, {"seconds", &r.seconds},
      {"time", &r.time}};
  for (const auto& [name, field] : fields) *field = number_or_nan(values.value(name, json()));
  for (const auto& [name, value] : values.items())
    if (name != "step" && !fields.contains(name)) r.own.push_back({name, "", numbers_or_nan(value)});
  return r;
}

// Every whole line that is one of statistics: its text, with the line break, and its values.
template <typename Use>
void for_lines(const fs::path& path, const Use& use) {
  const std::string text = read_text(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    const std::string_view line = std::string_view(text).substr(at, end + 1 - at);
    at = end + 1;
    if (const auto values = values_of(line)) use(line, *values);
  }
}

}  // namespace

double value_of(const Statistics& statistics, std::string_view name, size_t index) {
  const auto found = std::ranges::find(statistics, name, &Statistic::name);
  return found != statistics.end() && index < found->values.size() ? found->values[index] : kNan;
}

json to_json(const StatsRecord& r) {
  // An ordered list of pairs would need another json type; alphabetical order is good enough for machines.
  json line = {{"step", r.step},           {"loss", r.loss}, {"loss_last", r.loss_last},
               {"grad_norm", r.grad_norm}, {"lr", r.lr},     {"images_per_s", r.images_per_s},
               {"seconds", r.seconds},     {"time", r.time}};
  for (const Statistic& own : r.own)
    line[own.name] = own.values.size() == 1 ? json(own.values[0]) : json(own.values);
  return line;
}

void StatsMeter::add(const StepResult& result) {
  ++count_;
  sum_ += result.loss;
  for (const Statistic& own : result.own) {
    if (!own.mean) continue;
    std::vector<double>& sums = sums_[own.name];
    sums.resize(own.values.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += own.values[i];
  }
  last_ = result;
}

StatsRecord StatsMeter::take(int64_t step) {
  StatsRecord record;
  const auto count = static_cast<double>(count_);
  record.step = step;
  record.loss = sum_ / count;
  record.loss_last = last_.loss;
  record.grad_norm = last_.grad_norm;
  record.lr = last_.lr;
  record.own = last_.own;
  for (Statistic& own : record.own)
    for (size_t i = 0; own.mean && i < own.values.size(); ++i) own.values[i] = sums_[own.name][i] / count;
  *this = StatsMeter();
  last_mean_ = record.loss;
  return record;
}

// The first format had one statistic with a mean, under a name of its own; it stays.
json StatsMeter::to_json() const {
  json values = {
      {"count", count_}, {"sum", sum_}, {kSavedQuarters, std::vector<double>(4)}, {"last_mean", last_mean_}};
  for (const auto& [name, sums] : sums_)
    if (name == kLossQuarters)
      values[kSavedQuarters] = sums;
    else
      values["sums"][name] = sums;
  return values;
}

StatsMeter StatsMeter::from_json(const JsonObject& values) {
  StatsMeter meter;
  meter.count_ = values.get<int64_t>("count");
  meter.sum_ = number_or_nan(values.at("sum"));
  meter.sums_[kLossQuarters] = numbers_or_nan(values.at(kSavedQuarters));
  const json others = values.has("sums") ? values.at("sums") : json::object();
  for (const auto& [name, sums] : others.items()) meter.sums_[name] = numbers_or_nan(sums);
  meter.last_mean_ = number_or_nan(values.at("last_mean"));
  return meter;
}

void StatsFile::append(const StatsRecord& record) { file_.append(json_text(to_json(record)) + "\n"); }

std::optional<StatsRecord> stats_record(std::string_view line) {
  const auto values = values_of(line);
  return values ? std::optional(record_of(*values)) : std::nullopt;
}

std::vector<StatsRecord> read_stats(const fs::path& path) {
  std::vector<StatsRecord> records;
  for_lines(path, [&](std::string_view, const json& values) { records.push_back(record_of(values)); });
  return records;
}

void cut_stats(const fs::path& path, int64_t step) {
  if (!fs::exists(path)) return;
  std::string kept;
  for_lines(path, [&](std::string_view line, const json& values) {
    if (json_value<int64_t>(values.at("step")) <= step) kept += line;
  });
  if (kept.size() != fs::file_size(path)) write_file(path, kept);
}

}  // namespace mdsm::train
