// The same function by a wider network, to go on training with more room (mdsm train --init MODEL --width N).
#pragma once

#include "network/parameters.h"

namespace mdsm::network {

// Weights of the network `spec`, which differs from that of `from` by its width alone, for the same function
// of the image. A new channel is the copy of an old one; whoever reads copies of a channel has its weight
// shared among them, at random by the seed, so that training tells the copies apart.
Parameters widened(const Parameters& from, const Spec& spec, uint64_t seed);

}  // namespace mdsm::network
