// Temperature schedules of annealed sampling: plain lists with one temperature a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/enum_names.h"

namespace mdsm::sample {

enum class Annealing { exponential, linear, constant };
constexpr auto enum_names(Annealing) {
  return names_of<Annealing>(
      {{Annealing::exponential, "exp"}, {Annealing::linear, "linear"}, {Annealing::constant, "constant"}});
}

// The paper's: `hot` steps at `high`, `cooling` steps from high to low, `final` steps linear from low to 0.
// constant: all of them at `high`.
struct TemperatureOptions {
  Annealing annealing = Annealing::exponential;
  double high = 100, low = 1;
  int64_t hot = 500, cooling = 2000, final = 200;

  int64_t steps() const { return hot + cooling + final; }
};

// The cooling part has high at its first step and low at its last; the final part ends with exactly 0.
// Usage errors: a temperature that is not finite or negative, low above high, no steps at all.
std::vector<double> make_schedule(const TemperatureOptions& options);
std::vector<double> constant_schedule(double temperature, int64_t steps);

// One temperature a line (or several, separated by spaces or commas); empty lines and # comments are skipped.
// `name` and `what` are for messages.
std::vector<double> parse_schedule(const std::string& text, const std::string& name,
                                   const char* what = "temperature");

}  // namespace mdsm::sample
