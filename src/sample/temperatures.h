// The options of samplers that run through a list of temperatures: --schedule, its phases, --steps and
// --temperature. Internal to this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/options.h"
#include "sample/schedule.h"

namespace mdsm::sample {

inline constexpr double kMaxTemperature = 1e6;

class Temperatures {
 public:
  // constant_steps: of --schedule constant where --steps is not given.
  Temperatures(const TemperatureOptions& phases, int64_t constant_steps)
      : phases_(phases), constant_steps_(constant_steps) {}

  void declare(OptionSet& options);
  // Checks the options and makes the list; reads a schedule file.
  void resolve(const OptionSet& options);
  void complete(nlohmann::json& values) const;

  bool constant() const { return annealing_ == Annealing::constant && hash_.empty(); }
  const std::vector<double>& list() const { return list_; }  // one a step
  int64_t steps() const { return static_cast<int64_t>(list_.size()); }

 private:
  void read_file(const OptionSet& options);
  void make_phases(const OptionSet& options);

  std::string schedule_ = "exp";
  TemperatureOptions phases_;
  int64_t constant_steps_, steps_ = 0;
  double temperature_ = 1;
  Annealing annealing_ = Annealing::exponential;
  std::string hash_;  // of a schedule file's content
  std::vector<double> list_;
};

}  // namespace mdsm::sample
