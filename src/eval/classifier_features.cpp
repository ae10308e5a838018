#include "classify/classifier.h"
#include "eval/features.h"

namespace mdsm::eval {
namespace {

class ClassifierFeatures : public FeatureNetwork {
 public:
  explicit ClassifierFeatures(const fs::path& path)
      : name_(path.filename().string()), classifier_(classify::load_classifier(path)) {}

  FeatureSet extract(const data::Dataset& data, const Done& done) override {
    classify::Classification found = classify::classify(classifier_, data, done);
    return {found.n, classifier_.spec.features, classifier_.spec.classes, std::move(found.features),
            std::move(found.probabilities)};
  }

  FeatureDescription description() const override {
    FeatureDescription found{.kind = FeatureKind::classifier,
                             .file = name_,
                             .dimensions = classifier_.spec.features,
                             .values = "0 to 1, as given",
                             .resize = "none"};
    for (const char* key : {"accuracy", "trained"})
      if (classifier_.info.contains(key)) found.more[key] = classifier_.info[key];
    return found;
  }

  int64_t group() const override { return classify::kGroup; }

 private:
  std::string name_;
  classify::Classifier classifier_;
};

}  // namespace

std::unique_ptr<FeatureNetwork> classifier_features(const fs::path& classifier) {
  return std::make_unique<ClassifierFeatures>(classifier);
}

}  // namespace mdsm::eval
