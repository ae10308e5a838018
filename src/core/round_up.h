// The next multiple of a number.
#pragma once

#include <cstdint>

namespace mdsm {

constexpr int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

}  // namespace mdsm
