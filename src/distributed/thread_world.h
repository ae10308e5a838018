// Ranks that are threads of one process, for tests: messages are copies in a shared table.
#pragma once

#include <functional>

#include "distributed/communicator.h"

namespace mdsm::distributed {

// Calls body(communicator) on `size` threads at once and waits for all. A rank whose body throws gives up, as
// a process would. The exception of the first rank that threw is the caller's.
void run_ranks(int size, const std::function<void(Communicator&)>& body);

}  // namespace mdsm::distributed
