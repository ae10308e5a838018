// The numbers of a run: what one step measured, their means between two lines of stats.jsonl, and that file.
// What an objective measures beside its loss are statistics with names; nothing here knows which there are.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/append_file.h"
#include "core/json.h"

namespace mdsm::train {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A number, or a list of them, that an objective measures beside its loss.
struct Statistic {
  std::string name;            // the key in stats.jsonl
  std::string tag;             // in TensorBoard; the values of a list are numbered from 1
  std::vector<double> values;  // one is written as a number, several as a list; NaN where there is none
  bool mean = false;           // over the steps since the last line; otherwise that of the last step
};
using Statistics = std::vector<Statistic>;

// Names that more than one objective uses.
inline constexpr const char *kEnergyData = "energy_data", *kEnergyNoise = "energy_noise";

// NaN where there is no such value.
double value_of(const Statistics& statistics, std::string_view name, size_t index = 0);

struct StepResult {
  double loss = 0;
  Statistics own;        // of the objective, the same ones in every step
  double grad_norm = 0;  // before clipping
  double lr = 0;
  bool applied = false;  // false: loss or gradient was not finite and no weight was changed
};

struct StatsRecord {
  int64_t step = 0;              // steps done
  double loss = 0;               // mean since the last line
  double loss_last = 0;          // of the last step alone
  double grad_norm = 0, lr = 0;  // the same
  Statistics own;
  double images_per_s = 0, seconds = 0, time = 0;  // wall clock: the only fields a resume changes
};

nlohmann::json to_json(const StatsRecord& record);

// Means between two lines. It is part of the training state, so that a resumed curve is the uninterrupted
// one.
class StatsMeter {
 public:
  void add(const StepResult& result);
  // Fills the step's own and the mean fields, and starts afresh.
  StatsRecord take(int64_t step);
  double last_mean() const { return last_mean_; }  // loss of the last line; NaN before the first

  nlohmann::json to_json() const;
  static StatsMeter from_json(const JsonObject& values);

 private:
  int64_t count_ = 0;
  double sum_ = 0;
  std::map<std::string, std::vector<double>> sums_;  // of statistics that are means
  double last_mean_ = std::numeric_limits<double>::quiet_NaN();
  StepResult last_;  // not saved: a record is taken in the same step that was added last
};

// Lines appended one at a time.
class StatsFile {
 public:
  explicit StatsFile(fs::path path) : file_(std::move(path)) {}

  void append(const StatsRecord& record);
  void flush() { file_.flush(); }  // to the disk

 private:
  AppendFile file_;
};

// A line of statistics; nothing where it is none.
std::optional<StatsRecord> stats_record(std::string_view line);

// All whole lines, with what they have of the fields above; statistics without their tags.
std::vector<StatsRecord> read_stats(const fs::path& path);

// Drops the lines after `step`, and half a line that a killed process left.
void cut_stats(const fs::path& path, int64_t step);

}  // namespace mdsm::train
