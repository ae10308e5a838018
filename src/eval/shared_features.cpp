#include "eval/shared_features.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "data/subset.h"

namespace mdsm::eval {
namespace {

// Whole groups, but for the last one of the data.
data::Subset share_of(const data::Dataset& data, int64_t group, const distributed::Communicator& world) {
  const int64_t groups = (data.size() + group - 1) / group;
  const auto part =
      distributed::equal_parts(static_cast<size_t>(groups), world.size())[static_cast<size_t>(world.rank())];
  const int64_t first = std::min(data.size(), static_cast<int64_t>(part.first) * group),
                end = std::min(data.size(), static_cast<int64_t>(part.first + part.count) * group);
  std::vector<uint32_t> indices(static_cast<size_t>(end - first));
  std::iota(indices.begin(), indices.end(), static_cast<uint32_t>(first));
  return {std::shared_ptr<const data::Dataset>(&data, [](const data::Dataset*) {}), std::move(indices), ""};
}

std::vector<float> joined(const std::vector<std::string>& parts) {
  std::vector<float> all;
  for (const std::string& part : parts) {
    const size_t before = all.size();
    all.resize(before + part.size() / sizeof(float));
    if (!part.empty()) std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
}

std::vector<float> gathered(distributed::Communicator& world, const std::vector<float>& own) {
  return joined(world.gather_first({reinterpret_cast<const char*>(own.data()), own.size() * sizeof(float)}));
}

}  // namespace

FeatureSet shared_features(distributed::Communicator& world, FeatureNetwork& network,
                           const data::Dataset& data, const FeatureNetwork::Done& done) {
  if (world.alone()) return network.extract(data, done);
  const data::Subset own = share_of(data, network.group(), world);
  FeatureSet set;
  if (own.size() > 0) set = network.extract(own, [&](int64_t n) { done(n * data.size() / own.size()); });
  set.features = gathered(world, set.features);
  set.probabilities = gathered(world, set.probabilities);
  set.n = world.first() ? data.size() : 0;
  return set;
}

}  // namespace mdsm::eval
