// How the processes of a job find each other: a TCPStore where they meet, who is there and of which version,
// and the connections between all of them.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <string>

#include "distributed/launcher.h"

namespace mdsm::engine {

// A connection of one's own to the store; with `host`, rank 0 makes the store where no launcher has.
c10::intrusive_ptr<c10d::Store> open_store(const distributed::Launch& launch, bool host);

// Waits until all ranks are there and says what differs: number of processes, version, two of the same rank.
c10::intrusive_ptr<c10d::Store> join(const distributed::Launch& launch, const std::string& version);

c10::intrusive_ptr<c10d::ProcessGroupGloo> connect(const distributed::Launch& launch,
                                                   const c10::intrusive_ptr<c10d::Store>& store);

}  // namespace mdsm::engine
