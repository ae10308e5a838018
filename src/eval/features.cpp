#include "eval/features.h"

#include <algorithm>

#include "core/error.h"
#include "eval/tensor_images.h"

namespace mdsm::eval {

void to_json(nlohmann::json& values, const FeatureDescription& network) {
  values = network.more;
  values["kind"] = to_string(network.kind);
  values["file"] = network.file;
  values["values"] = network.values;
  values["resize"] = network.resize;
  if (network.dimensions > 0) values["dimensions"] = network.dimensions;
}

std::unique_ptr<data::Dataset> feature_images(FeatureNetwork& network, const data::Dataset& data,
                                              const FeatureNetwork::Done& done) {
  const FeatureSet set = network.extract(data, done);
  if (find_non_finite(set.features) >= 0)
    fail("check the feature network", "a feature of {} is not finite", data.description());
  Tensor x({set.n, 1, 1, set.dimensions});
  std::ranges::copy(set.features, x.data());
  return std::make_unique<TensorImages>(std::move(x), data.description());
}

}  // namespace mdsm::eval
