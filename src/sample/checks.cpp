#include "sample/checks.h"

#include <cmath>

#include "core/error.h"

namespace mdsm::sample {

void check_temperatures(std::span<const double> temperatures) {
  if (temperatures.empty()) fail_usage("use at least one", "a schedule of 0 steps");
  for (const double t : temperatures)
    if (!std::isfinite(t) || t < 0)
      fail_usage("temperatures are finite and at least 0", "a temperature is {}", t);
}

void check_positive(double value, const char* name) {
  if (!std::isfinite(value) || value <= 0) fail_usage("it must be positive", "{} is {}", name, value);
}

void check_range(double value, double low, double high, const char* name) {
  if (!(value >= low && value <= high))
    fail_usage(fmt::format("use {} to {}", low, high), "{} is {}", name, value);
}

void check_levels(double sigma_min, double sigma_max) {
  check_positive(sigma_min, "sigma_min");
  check_positive(sigma_max, "sigma_max");
  if (sigma_min >= sigma_max)
    fail_usage("the levels go down", "sigma_min {} is not below sigma_max {}", sigma_min, sigma_max);
}

void check_at_least(int64_t value, int64_t low, const char* name) {
  if (value < low) fail_usage(fmt::format("use at least {}", low), "{} is {}", name, value);
}

int64_t burn_in_steps(int64_t asked, int64_t steps, int64_t automatic) {
  if (asked < 0) return automatic;
  if (asked > steps)
    fail_usage("use fewer, or more steps", "a burn-in of {} steps is longer than the run of {}", asked,
               steps);
  return asked;
}

}  // namespace mdsm::sample
