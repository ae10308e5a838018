// Measurements in turns, so that a machine that gets slower or faster meanwhile does so for everybody.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/party.h"
#include "bench/statistics.h"

namespace mdsm::bench {

using Say = std::function<void(const std::string&)>;  // gets a line of progress

// One side's times in one situation.
struct Timing {
  std::vector<double> seconds;  // of a step, one entry a round
  double peak_memory = 0;       // bytes; of a process that did nothing else

  Spread spread() const { return bench::spread(seconds); }
};

// One of those that take turns.
struct Runner {
  std::string label;  // for progress
  Party* party;
  std::string request;
  Timing* timing;
  int64_t repeat = 1;
};

// Ours, theirs, ours, theirs. 0 rounds: as many as the length of a round allows.
void take_turns(std::vector<Runner>& runners, int64_t rounds, const std::string& title, const Say& say);

}  // namespace mdsm::bench
