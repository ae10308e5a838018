// Features of a data set by several processes: each computes some of the images, rank 0 gets all.
#pragma once

#include "distributed/communicator.h"
#include "eval/features.h"

namespace mdsm::eval {

// On rank 0 the bits of network.extract(data) alone: images go through the network in the same groups.
// Nothing on other ranks.
FeatureSet shared_features(distributed::Communicator& world, FeatureNetwork& network,
                           const data::Dataset& data, const FeatureNetwork::Done& done);

}  // namespace mdsm::eval
