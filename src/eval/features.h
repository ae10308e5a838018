// What the quality measures look at: features and class probabilities of images. A FeatureNetwork computes
// them: a classifier of `mdsm classifier`, or a TorchScript file such as the field's Inception network.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/files.h"
#include "data/dataset.h"

namespace mdsm::eval {

struct FeatureSet {
  int64_t n = 0, dimensions = 0, classes = 0;
  std::vector<float> features;       // (N x dimensions)
  std::vector<float> probabilities;  // (N x classes); classes = 0 where the network has none
};

enum class FeatureKind { classifier, torchscript };
constexpr auto enum_names(FeatureKind) {
  return names_of<FeatureKind>(
      {{FeatureKind::classifier, "classifier"}, {FeatureKind::torchscript, "torchscript"}});
}

// Everything that the features depend on beside the images.
struct FeatureDescription {
  FeatureKind kind = FeatureKind::classifier;
  std::string file;
  int64_t dimensions = 0;                          // 0: not known before the first image
  std::string values, resize;                      // range of the pixels, and how images are fitted
  nlohmann::json more = nlohmann::json::object();  // what else a kind of network has to say
};
void to_json(nlohmann::json& values, const FeatureDescription& network);

class FeatureNetwork {
 public:
  using Done = std::function<void(int64_t)>;  // told the number of images finished
  virtual ~FeatureNetwork() = default;
  virtual FeatureSet extract(const data::Dataset& data, const Done& done) = 0;
  virtual FeatureDescription description() const = 0;
  virtual int64_t group() const = 0;  // images that it computes at a time
};

std::unique_ptr<FeatureNetwork> classifier_features(const fs::path& classifier);

struct ScriptOptions {
  std::string device = "cpu";
  int64_t resize = 0;  // images to a square of so many pixels before the network; 0 = as they are
  int64_t batch = 64;
};
// The calling convention is in docs/evaluation.md. Throws where this build has no LibTorch.
std::unique_ptr<FeatureNetwork> script_features(const fs::path& torch_script, const ScriptOptions& options);

// The features of all images as images themselves, (1,1,dimensions): what is measured in pixels can be
// measured in features too. Throws when a feature is not finite.
std::unique_ptr<data::Dataset> feature_images(FeatureNetwork& network, const data::Dataset& data,
                                              const FeatureNetwork::Done& done = {});

}  // namespace mdsm::eval
