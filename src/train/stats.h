// The numbers of a run: what one step measured, their means between two lines of stats.jsonl, and that file.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/append_file.h"

namespace mdsm::train {

struct StepResult {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double loss = 0;  // normalised, mean over the batch; of ml the difference of mean energies
  std::array<double, 4>
      quarters{};           // the same over each quarter of the noise levels, lowest first; NaN if empty
  double energy_noise = 0;  // mean E of the noisy batch, before the update; of ml that of the model's samples
  double energy_data = 0;   // mean E of the clean batch; only on steps that asked for it
  double effective = kNone;  // share of the batch that counts under importance weights
  double grad_norm = 0;      // before clipping
  double lr = 0;
  bool applied = false;  // false: loss or gradient was not finite and nothing was updated
};

struct StatsRecord {
  int64_t step = 0;      // updates done
  double loss = 0;       // mean since the last line
  double loss_last = 0;  // of the last step alone
  std::array<double, 4> loss_quarters{};
  double energy_data = 0, energy_noise = 0, grad_norm = 0, lr = 0;  // of the last step
  double effective = StepResult::kNone;                             // the same; written where there is one
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
  static StatsMeter from_json(const nlohmann::json& values);

 private:
  int64_t count_ = 0;
  double sum_ = 0;
  std::array<double, 4> quarter_sums_{};
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

// All whole lines, with what they have of the fields above.
std::vector<StatsRecord> read_stats(const fs::path& path);

// Drops the lines after `step`, and half a line that a killed process left.
void cut_stats(const fs::path& path, int64_t step);

}  // namespace mdsm::train
