// What stands in the cells of the report's tables: times, ratios, rates.
#pragma once

#include <optional>
#include <string>

#include "bench/turns.h"

namespace mdsm::bench {

std::string seconds_text(double seconds);                                       // "1.17 s", "117 ms"
std::string times_text(const Timing& timing);                                   // "117 ms (116 ms..120 ms)"
std::string ratio_text(const std::optional<Timing>& slow, const Timing& fast);  // "4.02x"; empty without one
std::string rate_text(double flop, double seconds);                             // GFLOP/s
std::string share_text(double flop, double seconds, double peak_gflops);        // "85 %"; empty where unknown

}  // namespace mdsm::bench
