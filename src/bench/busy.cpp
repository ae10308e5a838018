#include "bench/busy.h"

#include <sys/wait.h>

#include <csignal>

#include "core/start_process.h"

namespace mdsm::bench {

BusyNeighbours::BusyNeighbours(int count) {
  try {
    for (int i = 0; i < count; ++i)
      processes_.push_back(start_process({.name = "a busy neighbour",
                                          .command = {"sh", "-c", "while :; do :; done"},
                                          .death_signal = SIGKILL}));
  } catch (...) {
    end();
    throw;
  }
}

BusyNeighbours::~BusyNeighbours() { end(); }

void BusyNeighbours::end() {
  for (const int process : processes_) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  processes_.clear();
}

}  // namespace mdsm::bench
