#include "sample/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/error.h"

namespace mdsm::sample {
namespace {

constexpr int64_t kMostSteps = 100'000'000;  // beyond any use; a slip of the hand, not a schedule

double check_temperature(double value, const std::string& what) {
  if (!std::isfinite(value) || value < 0)
    fail_usage("temperatures are finite and at least 0", "{} is {}", what, value);
  return value;
}

void check_steps(int64_t steps, const char* what) {
  if (steps < 0 || steps > kMostSteps)
    fail_usage(fmt::format("use 0 to {}", kMostSteps), "{} steps: {} is out of range", what, steps);
}

// Position of step i among n that reach the end exactly: 0 .. 1.
double fraction(int64_t i, int64_t n) {
  return n == 1 ? 1.0 : static_cast<double>(i) / static_cast<double>(n - 1);
}

}  // namespace

std::vector<double> constant_schedule(double temperature, int64_t steps) {
  check_temperature(temperature, "the temperature");
  check_steps(steps, "constant");
  if (steps == 0) fail_usage("use at least one", "a schedule of 0 steps");
  return std::vector<double>(static_cast<size_t>(steps), temperature);
}

std::vector<double> make_schedule(const TemperatureOptions& options) {
  const double high = check_temperature(options.high, "the high temperature");
  const double low = check_temperature(options.low, "the low temperature");
  check_steps(options.hot, "hot");
  check_steps(options.cooling, "cooling");
  check_steps(options.final, "final");
  if (options.steps() == 0) fail_usage("use at least one", "a schedule of 0 steps");
  if (options.annealing == Annealing::constant) return constant_schedule(high, options.steps());
  if (low > high)
    fail_usage("annealing goes from high to low", "the low temperature {} is above the high one {}", low,
               high);
  const bool exponential = options.annealing == Annealing::exponential;
  if (exponential && low == 0)
    fail_usage("use a small positive one, or the linear schedule",
               "an exponential schedule never reaches the low temperature 0");
  std::vector<double> schedule(static_cast<size_t>(options.hot), high);
  for (int64_t i = 0; i < options.cooling; ++i) {
    const double f = fraction(i, options.cooling);
    if (f == 1)
      schedule.push_back(low);  // without the rounding of pow
    else
      schedule.push_back(exponential ? high * std::pow(low / high, f) : high + (low - high) * f);
  }
  for (int64_t i = 0; i < options.final; ++i) schedule.push_back(low * (1 - fraction(i, options.final)));
  return schedule;
}

std::vector<double> parse_schedule(const std::string& text, const std::string& name, const char* what) {
  std::vector<double> schedule;
  std::istringstream lines(text);
  std::string line, word;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    line = line.substr(0, line.find('#'));
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line);
    while (words >> word) {
      char* end = nullptr;
      const double value = std::strtod(word.c_str(), &end);
      if (end != word.c_str() + word.size() || !std::isfinite(value) || value < 0)
        fail(fmt::format("write one finite {} of at least 0 a line", what), "{}:{}: {} is no {}", name,
             number, word.substr(0, 40), what);
      schedule.push_back(value);
    }
  }
  if (schedule.empty()) fail(fmt::format("write one {} a line", what), "{}: no {}s", name, what);
  check_steps(static_cast<int64_t>(schedule.size()), name.c_str());
  return schedule;
}

}  // namespace mdsm::sample
