#include "train/stats.h"

#include <cmath>
#include <limits>

namespace mdsm::train {
namespace {

using nlohmann::json;

// JSON has no NaN: null stands for it.
double number_or_nan(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

// Every whole line that is one of statistics: its text, with the line break, and its values.
template <typename Use>
void for_lines(const fs::path& path, const Use& use) {
  const std::string text = read_text(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    const std::string line = text.substr(at, end + 1 - at);
    at = end + 1;
    const json values = json::parse(line, nullptr, false);
    if (!values.is_object() || !values.contains("step") || !values["step"].is_number_integer()) continue;
    use(line, values);
  }
}

}  // namespace

json to_json(const StatsRecord& r) {
  // An ordered list of pairs would need another json type; alphabetical order is good enough for machines.
  json line = {{"step", r.step},
               {"loss", r.loss},
               {"loss_last", r.loss_last},
               {"loss_quarters", r.loss_quarters},
               {"energy_data", r.energy_data},
               {"energy_noise", r.energy_noise},
               {"grad_norm", r.grad_norm},
               {"lr", r.lr},
               {"images_per_s", r.images_per_s},
               {"seconds", r.seconds},
               {"time", r.time}};
  if (!std::isnan(r.effective)) line["importance_effective"] = r.effective;
  return line;
}

void StatsMeter::add(const StepResult& result) {
  ++count_;
  sum_ += result.loss;
  for (size_t q = 0; q < quarter_sums_.size(); ++q) quarter_sums_[q] += result.quarters[q];
  last_ = result;
}

StatsRecord StatsMeter::take(int64_t step) {
  StatsRecord record;
  const auto count = static_cast<double>(count_);
  record.step = step;
  record.loss = sum_ / count;
  for (size_t q = 0; q < quarter_sums_.size(); ++q) record.loss_quarters[q] = quarter_sums_[q] / count;
  record.loss_last = last_.loss;
  record.energy_data = last_.energy_data;
  record.energy_noise = last_.energy_noise;
  record.grad_norm = last_.grad_norm;
  record.lr = last_.lr;
  record.effective = last_.effective;
  *this = StatsMeter();
  last_mean_ = record.loss;
  return record;
}

json StatsMeter::to_json() const {
  return {{"count", count_}, {"sum", sum_}, {"quarters", quarter_sums_}, {"last_mean", last_mean_}};
}

StatsMeter StatsMeter::from_json(const json& values) {
  StatsMeter meter;
  meter.count_ = values.at("count").get<int64_t>();
  meter.sum_ = number_or_nan(values.at("sum"));
  for (size_t q = 0; q < meter.quarter_sums_.size(); ++q)
    meter.quarter_sums_[q] = number_or_nan(values.at("quarters").at(q));
  meter.last_mean_ = number_or_nan(values.at("last_mean"));
  return meter;
}

void StatsFile::append(const StatsRecord& record) { file_.append(to_json(record).dump() + "\n"); }

std::vector<StatsRecord> read_stats(const fs::path& path) {
  std::vector<StatsRecord> records;
  for_lines(path, [&](const std::string&, const json& values) {
    StatsRecord& r = records.emplace_back();
    const auto number = [&](const char* name) { return number_or_nan(values.value(name, json())); };
    r.step = values["step"].get<int64_t>();
    r.loss = number("loss");
    r.loss_last = number("loss_last");
    const json quarters = values.value("loss_quarters", json());
    for (size_t q = 0; q < r.loss_quarters.size(); ++q)
      r.loss_quarters[q] = q < quarters.size() ? number_or_nan(quarters[q]) : StepResult::kNone;
    r.energy_data = number("energy_data");
    r.energy_noise = number("energy_noise");
    r.grad_norm = number("grad_norm");
    r.lr = number("lr");
    r.effective = number("importance_effective");
    r.images_per_s = number("images_per_s");
    r.seconds = number("seconds");
    r.time = number("time");
  });
  return records;
}

void cut_stats(const fs::path& path, int64_t step) {
  if (!fs::exists(path)) return;
  std::string kept;
  for_lines(path, [&](const std::string& line, const json& values) {
    if (values["step"].get<int64_t>() <= step) kept += line;
  });
  if (kept.size() != fs::file_size(path)) write_file(path, kept);
}

}  // namespace mdsm::train
