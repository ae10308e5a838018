#include "bench/peers.h"

#include <algorithm>

#include "bench/problem.h"
#include "core/error.h"

namespace mdsm::bench {
namespace {

constexpr int64_t kFewImages = 4;
// What a mode may take for an answer: so many seconds to begin with, and so many steps of the fastest.
constexpr double kPatience = 60, kSlowest = 3;
constexpr double kLongStep = 10;  // seconds from which on one step must do

// An error in the words of a table: without the name of the side, on one line, and short.
std::string reason(const Error& error, const std::string& side) {
  std::string text = error.message();
  const std::string start = side_title(side);
  if (text.starts_with(start)) text.erase(0, start.size());
  text.erase(0, text.find_first_not_of(": "));
  text = text.substr(0, text.find('\n'));
  text.erase(text.find_last_not_of(":= ") + 1);  // the ruled lines of crash reports
  std::ranges::replace(text, '|', '/');
  constexpr size_t kLongest = 120;
  return text.size() > kLongest ? text.substr(0, kLongest - 3) + "..." : text;
}

std::vector<PeerMode> modes_of(const Contestant& side, bool with_amx) {
  std::vector<PeerMode> modes = {{side, side.name, "float32", engine::Precision::float32},
                                 {side, side.name, "bfloat16", engine::Precision::bfloat16}};
  if (with_amx) {
    modes.push_back({side, side.name, "bfloat16 without AMX", engine::Precision::bfloat16});
    modes.back().side.environment.emplace_back("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16");
  }
  return modes;
}

// Seconds of a step in a process of its own, which says its version before anything can go wrong.
double try_mode(PeerMode& mode, const Configuration& config, const fs::path& folder,
                const std::string& request, SideOptions options) {
  options.precision = mode.precision;
  Party party(mode.side);
  party.set_up(folder, config, options);
  mode.version = party.version();
  const double first = party.time(request, 1);
  return first > kLongStep ? first : std::min(first, party.time(request, 1));
}

// What the fastest mode so far leaves the others; nobody waits longer for those than for an answer at all.
double patience(const Contestant& side, double fastest) {
  return std::min(side.timeout, kPatience + kSlowest * fastest);
}

}  // namespace

std::vector<PeerMode> try_modes(const std::vector<Contestant>& sides, const Configuration& config,
                                const SideOptions& options, bool with_amx, const Say& say) {
  Configuration small = config;
  small.batch = std::min(small.batch, kFewImages);
  const ScratchFolder folder;
  write_problem(folder.path(), small, options.seed);
  std::vector<PeerMode> modes;
  for (const Contestant& side : sides) {
    const size_t first = modes.size();
    for (PeerMode mode : modes_of(side, with_amx)) {
      const bool must = modes.size() == first;
      if (!must) {
        mode.version = modes[first].version;
        mode.side.timeout = patience(side, modes[first].seconds);
      }
      try {
        mode.seconds = try_mode(mode, small, folder.path(), "train", options);
      } catch (const Error& error) {
        if (must) throw;
        mode.problem = reason(error, side.name);
      }
      mode.side.timeout = side.timeout;
      say(fmt::format("{} ({}): {}", mode.text(), mode.python(),
                      mode.problem.empty() ? "runs" : "cannot run: " + mode.problem));
      modes.push_back(std::move(mode));
    }
  }
  return modes;
}

FastestMode find_fastest(const std::vector<PeerMode>& modes, const Configuration& config,
                         const fs::path& folder, const std::string& request, SideOptions options,
                         const Say& say) {
  std::vector<PeerMode> able;
  std::ranges::copy_if(modes, std::back_inserter(able), [](const PeerMode& m) { return m.problem.empty(); });
  FastestMode fastest{able.front(), {}};
  if (able.size() == 1) return fastest;
  double best = 0;
  for (PeerMode& mode : able) {
    const PeerMode whole = mode;
    ModeTime time{mode.text(), 0, ""};
    if (best > 0) mode.side.timeout = patience(mode.side, best);
    try {
      time.seconds = try_mode(mode, config, folder, request, options);
    } catch (const Error& error) {
      if (&mode == &able.front()) throw;
      time.problem = reason(error, mode.side.name);
    }
    say(fmt::format("  {}: {}", time.mode,
                    time.problem.empty() ? fmt::format("{:.4g} s", time.seconds) : time.problem));
    if (time.problem.empty() && (best == 0 || time.seconds < best)) {
      best = time.seconds;
      fastest.mode = whole;
    }
    fastest.times.push_back(std::move(time));
  }
  return fastest;
}

}  // namespace mdsm::bench
