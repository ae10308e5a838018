// mdsm train --init: which network a model to start from asks for, and the weights that a run starts with.
#pragma once

#include "app/train.h"

namespace mdsm::app {

// Options of the network that were not given become those of the model `from`; a usage error names one that
// was given and differs. Only the head of a U-Net may, and its width may grow.
void take_network(OptionSet& options, const network::Spec& model, const std::string& from);

// Those of options.start, which must be of this network but for the size of images where it takes any; random
// ones where there is none.
network::Parameters starting_weights(const TrainingOptions& options, const network::Spec& spec);

}  // namespace mdsm::app
