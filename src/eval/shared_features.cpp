#include "eval/shared_features.h"

#include "eval/share.h"

namespace mdsm::eval {

FeatureSet shared_features(distributed::Communicator& world, FeatureNetwork& network,
                           const data::Dataset& data, const FeatureNetwork::Done& done) {
  if (world.alone()) return network.extract(data, done);
  const Share own = share_of(world, data, network.group());
  FeatureSet set;
  if (own.images.size() > 0)
    set = network.extract(own.images, [&](int64_t n) { done(n * data.size() / own.images.size()); });
  const int64_t n = world.first() ? data.size() : 0;  // rank 0 has some images: it knows how long a row is
  set.features = gathered(world, set.features, n * set.dimensions);
  set.probabilities = gathered(world, set.probabilities, n * set.classes);
  set.n = n;
  return set;
}

}  // namespace mdsm::eval
