// The bowl of a spec, bowl ‖x‖² / (2 sigma0²), put on top of a network's energy (docs/design/bowl.md). It has
// no parameters, so that it is an energy around an energy: backends compute the network and know nothing of
// it.
#pragma once

#include <memory>

#include "engine/trainable_energy.h"

namespace mdsm::engine {

// The whole energy of the network's spec: with its bowl, or the network itself where that is 0. Every
// backend's factory ends with it.
std::unique_ptr<TrainableEnergy> with_bowl(std::unique_ptr<TrainableEnergy> network);

}  // namespace mdsm::engine
