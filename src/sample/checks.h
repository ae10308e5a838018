// Checks of options that several samplers share. Internal to this folder; all throw usage errors.
#pragma once

#include <cstdint>
#include <span>

namespace mdsm::sample {

void check_temperatures(std::span<const double> temperatures);
void check_positive(double value, const char* name);
void check_range(double value, double low, double high, const char* name);  // both ends allowed
// Noise levels to go down between: positive, the last below the first.
void check_levels(double sigma_min, double sigma_max);
void check_at_least(int64_t value, int64_t low, const char* name);

// The burn-in asked for, or `automatic` when that is negative; more than there are steps is an error.
int64_t burn_in_steps(int64_t asked, int64_t steps, int64_t automatic);

}  // namespace mdsm::sample
