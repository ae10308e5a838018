// Helpers of the tests in this folder: a small network.
#pragma once

#include "network/parameters.h"
#include "temporary_folder.h"

namespace mdsm::network {

inline Spec small_spec(Network network = Network::res6, Head head = Head::quadratic, int64_t channels = 1) {
  return {.network = network, .width = 4, .channels = channels, .size = 16, .head = head, .sigma0 = 0.1};
}

}  // namespace mdsm::network
