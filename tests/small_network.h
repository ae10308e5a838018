// A network small enough for any test, and weights that make it do something.
#pragma once

#include "network/parameters.h"

namespace mdsm::test {

// The smallest: res6 of width 4 on 8 x 8 pixels (16 x 16 for res34); unet has 3 levels.
inline network::Spec small_spec(network::Network network = network::Network::res6,
                                network::Head head = network::Head::quadratic, int64_t channels = 1,
                                int64_t width = 4) {
  network::Spec spec;
  spec.network = network;
  spec.head = head;
  spec.channels = channels;
  spec.width = width;
  spec.size = network == network::Network::res34 ? 16 : 8;
  if (network == network::Network::unet) spec.levels = 3;
  return spec;
}

// Random weights, none zero, larger by half: with the usual ones the signal fades from block to block, and a
// deep network at its start is too flat for differences to show anything.
inline network::Parameters lively_parameters(const network::Spec& spec, uint64_t seed) {
  network::Parameters parameters = network::Parameters::random(spec, seed);
  for (float& value : parameters.values()) value *= 1.5f;
  return parameters;
}

}  // namespace mdsm::test
