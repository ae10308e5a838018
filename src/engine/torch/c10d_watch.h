// Looks after the processes of a job while they compute: every rank leaves a sign of life at the meeting
// place (a c10d store), looks for that of the next rank, and for a note that somebody has given up. Ranks
// that wait for each other's data learn from here why it will not come.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "distributed/launcher.h"

namespace mdsm::engine {

using Store = c10::intrusive_ptr<c10d::Store>;

// What a store keeps of a text.
inline std::vector<uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }

// Leaves a note of what happened, unless there is one. Throws when the store does not answer.
void leave_note(c10d::Store& store, const std::string& text);
std::string sign_of_life(int rank);  // its key

class Watch {
 public:
  // store: used by nobody else. on_end: called once, from the watching thread, when the job is over for this
  // rank.
  Watch(Store store, const distributed::Launch& launch, std::function<void()> on_end);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Why the job is over; empty while it is not. Waits so long for a reason.
  std::string reason(std::chrono::milliseconds wait = std::chrono::milliseconds(0));
  void stop();

 private:
  struct Looker;  // asks the store, in a thread of its own: one whose host is stopped may never answer
  void run();

  std::shared_ptr<Looker> looker_;
  distributed::Launch launch_;
  std::function<void()> on_end_;
  std::string reason_;  // under the looker's lock
  std::thread thread_;
};

}  // namespace mdsm::engine
