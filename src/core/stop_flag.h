// Ctrl-C, SIGTERM and a lost terminal (SIGHUP, unless started with nohup) as a flag: the first one asks the
// loop to finish its step, save and stop; a second one ends the process at once, as it would without this
// class.
#pragma once

#include <atomic>

namespace mdsm {

class StopFlag {
 public:
  StopFlag();   // installs the handlers; one at a time
  ~StopFlag();  // puts the former ones back
  StopFlag(const StopFlag&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;

  const std::atomic<bool>& flag() const;
  // Whether a signal came while one of these lived, and none has been made since.
  static bool asked();
};

}  // namespace mdsm
