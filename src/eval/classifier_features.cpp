#include "classify/classifier.h"
#include "eval/features.h"

namespace mdsm {
namespace {

class ClassifierFeatures : public FeatureNetwork {
 public:
  explicit ClassifierFeatures(const fs::path& path)
      : name_(path.filename().string()), classifier_(load_classifier(path)) {}

  FeatureSet extract(const Dataset& data, const Done& done) override {
    Classification found = classify(classifier_, data, done);
    return {found.n, classifier_.spec.features, classifier_.spec.classes, std::move(found.features),
            std::move(found.probabilities)};
  }

  nlohmann::json description() const override {
    nlohmann::json values = {{"kind", "classifier"},
                             {"file", name_},
                             {"dimensions", classifier_.spec.features},
                             {"values", "0 to 1, as given"},
                             {"resize", "none"}};
    for (const char* key : {"accuracy", "trained"})
      if (classifier_.info.contains(key)) values[key] = classifier_.info[key];
    return values;
  }

 private:
  std::string name_;
  Classifier classifier_;
};

}  // namespace

std::unique_ptr<FeatureNetwork> classifier_features(const fs::path& classifier) {
  return std::make_unique<ClassifierFeatures>(classifier);
}

}  // namespace mdsm
