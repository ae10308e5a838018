#include "bench/report_cells.h"

#include <fmt/format.h>

namespace mdsm::bench {

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 0.1) return fmt::format("{:.0f} ms", seconds * 1e3);
  return seconds >= 1e-3 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.0f} µs", seconds * 1e6);
}

std::string times_text(const Timing& timing) {
  const Spread s = timing.spread();
  return fmt::format("{} ({}..{})", seconds_text(s.median), seconds_text(s.min), seconds_text(s.max));
}

std::string ratio_text(const std::optional<Timing>& slow, const Timing& fast) {
  return slow ? fmt::format("{:.2f}x", slow->spread().median / fast.spread().median) : "";
}

std::string rate_text(double flop, double seconds) {
  return seconds > 0 ? fmt::format("{:.0f}", flop / seconds / 1e9) : "";
}

std::string share_text(double flop, double seconds, double peak_gflops) {
  if (flop == 0 || seconds <= 0 || peak_gflops <= 0) return "";
  return fmt::format("{:.0f} %", flop / seconds / 1e9 / peak_gflops * 100);
}

}  // namespace mdsm::bench
