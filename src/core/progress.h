// A one-line progress display with rate and time left, on standard error when that is a terminal; otherwise a
// line there once a minute (MDSM_PROGRESS_SECONDS).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mdsm {

class Progress {
 public:
  // unit is the plural of what is counted: "steps", "images". first > 0 when resuming.
  Progress(std::string label, int64_t total, std::string unit, int64_t first = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done, const std::string& note = "") { update(done, 0, 0, note); }
  // The same, and this share of the next `count`, which are worked on together.
  void update(int64_t done, int64_t count, double share, const std::string& note = "");

  // One of several processes shows how far they are; the others make no displays from now on.
  static void leave_to_others();
  // Removes the line of whichever display is active, so that a log line starts on a clean one.
  static void clear_line();

  using Clock = std::chrono::steady_clock;

 private:
  std::string label_, unit_;
  int64_t total_, first_;
  Clock::time_point start_, shown_;
  bool terminal_;
};

std::string duration_text(double seconds);  // "42 s", "3 min 05 s", "2 h 10 min"

}  // namespace mdsm
