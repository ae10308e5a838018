#include "core/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace mdsm {
namespace {

std::atomic<bool> g_line_shown{false}, g_left_to_others{false};

std::string bar(double fraction) {
  constexpr int kCells = 24;
  const int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kCells);
  return std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(kCells - full), '.');
}

// Of lines where there is no terminal: a minute, or what the environment says.
Progress::Clock::duration lines_apart() {
  const char* const given = std::getenv("MDSM_PROGRESS_SECONDS");
  const double seconds = given ? std::strtod(given, nullptr) : 0;
  return std::chrono::duration_cast<Progress::Clock::duration>(
      std::chrono::duration<double>(seconds > 0 ? seconds : 60));
}

std::string rate_text(double rate) {
  return rate > 0 && rate < 0.1 ? duration_text(1 / rate) + " each" : fmt::format("{:.1f}/s", rate);
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

Progress::Progress(std::string label, int64_t total, std::string unit, int64_t first)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      first_(first),
      start_(Clock::now()),
      shown_(start_),
      terminal_(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear_line(); }

void Progress::update(int64_t before, int64_t count, double share, const std::string& note) {
  if (g_left_to_others) return;
  const auto now = Clock::now();
  const double total = static_cast<double>(total_),
               done = static_cast<double>(before) + share * static_cast<double>(count);
  const bool due = terminal_ ? now - shown_ >= std::chrono::milliseconds(100) || done >= total
                             : now - shown_ >= lines_apart();
  if (!due) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? (done - static_cast<double>(first_)) / seconds : 0;
  const double left = rate > 0 ? (total - done) / rate : 0;
  const auto whole = static_cast<int64_t>(done);
  if (!terminal_) {
    fmt::print(stderr, "{}: {} of {} {}, {}, {} left{}{}\n", label_, whole, total_, unit_, rate_text(rate),
               duration_text(left), note.empty() ? "" : ", ", note);
    std::fflush(stderr);
    return;
  }
  fmt::print(stderr, "\r\033[K{} [{}] {}/{} {}  {}  {} left  {}", label_, bar(done / std::max(total, 1.0)),
             whole, total_, unit_, rate_text(rate), duration_text(left), note);
  std::fflush(stderr);
  g_line_shown = true;
}

void Progress::leave_to_others() { g_left_to_others = true; }

void Progress::clear_line() {
  if (!g_line_shown.exchange(false)) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace mdsm
