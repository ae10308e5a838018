#include "bench/turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mdsm::bench {
namespace {

constexpr double kLeastSeconds = 0.2;  // of one measurement; shorter steps are repeated
constexpr double kLongRound = 15;      // seconds from which on fewer rounds must do

// A step or two before anything counts, which also tells how many make a measurement.
double warm_up(Runner& runner) {
  double seconds = runner.party->time(runner.request, 1);
  if (seconds < 1) seconds = runner.party->time(runner.request, 1);
  runner.repeat = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(kLeastSeconds / seconds)), 1, 1000);
  return seconds;
}

}  // namespace

void take_turns(std::vector<Runner>& runners, int64_t rounds, const std::string& title, const Say& say) {
  double round_seconds = 0;
  for (Runner& runner : runners) round_seconds += warm_up(runner);
  if (rounds == 0) rounds = round_seconds > kLongRound ? 3 : 5;
  for (int64_t round = 0; round < rounds; ++round) {
    std::string line;
    for (Runner& runner : runners) {
      runner.timing->seconds.push_back(runner.party->time(runner.request, runner.repeat));
      line +=
          fmt::format("{} {} {:.4g} s", line.empty() ? "" : ",", runner.label, runner.timing->seconds.back());
    }
    say(fmt::format("{}, round {} of {}:{}", title, round + 1, rounds, line));
  }
  for (Runner& runner : runners) runner.timing->peak_memory = runner.party->peak_memory();
}

}  // namespace mdsm::bench
