// Several processes that do one job: whether a launcher has started them, how they meet, and the check that
// all of them were asked for the same.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "distributed/communicator.h"
#include "distributed/launcher.h"

namespace mdsm::app {

// Calls body with the processes that a launcher has started, or with this one alone, for which nothing is
// loaded or opened. command: which they do; together: whether several can. What body throws ends the others
// as well.
int with_world(const std::string& command, bool together,
               const std::function<int(distributed::Communicator&)>& body);

// The device of this process: "cuda" becomes that of its number on the host (LOCAL_RANK) where there are
// several.
std::string own_device(const distributed::Communicator& world, const std::string& device);

// Throws, on all ranks, when a rank has another value than rank 0 for a key of `what`: {"option --width": 16,
// ...}.
void check_same(distributed::Communicator& world, const nlohmann::json& what);
// As keys for check_same(): the options that decide what is computed.
nlohmann::json comparable(const nlohmann::json& options);

}  // namespace mdsm::app
