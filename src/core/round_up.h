// The next multiple of a number, and how many times it is one.
#pragma once

#include <cstdint>

namespace mdsm {

constexpr int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
constexpr int64_t divided_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

}  // namespace mdsm
