#include "app/classifier_guidance.h"

#include <algorithm>

#include "app/features.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "network/bundled.h"

namespace mdsm::app {
namespace {

fs::path bundled_classifier(const std::string& name) {
  const auto found = network::find_bundled(std::string(network::kClassifierPrefix) + name);
  if (!found)
    fail("name one with --class-by", "the model's classifier {} is not among those that come with mdsm",
         name);
  return *found;
}

// "horse,ship" or "all": their numbers.
std::vector<int> labels_of(const std::string& list, const std::vector<std::string>& classes,
                           const std::string& classifier) {
  std::vector<int> labels;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, end - at);
    at = end + 1;
    if (name == "all") {
      for (size_t i = 0; i < classes.size(); ++i) labels.push_back(static_cast<int>(i));
      continue;
    }
    const auto found = std::ranges::find(classes, name);
    if (found == classes.end())
      fail_usage(fmt::format("use all, or some of {}", fmt::join(classes, ",")),
                 "--classes {}: the classifier {} knows no '{}'", list, classifier, name);
    labels.push_back(static_cast<int>(found - classes.begin()));
  }
  return labels;
}

// Of all that the samples depend on.
std::string hash_of(const classify::Classifier& classifier) {
  std::string all = json_text(to_json(classifier.spec)) + json_text(classifier.classes);
  const auto* weights = reinterpret_cast<const char*>(classifier.weights.data());
  all.append(weights, classifier.weights.size() * sizeof(float));
  return content_hash(all.data(), all.size());
}

void check_noise(const classify::Classifier& classifier, const sample::Sampler::Wanted& wanted) {
  const double known = classify::trained_noise(classifier);
  if (known <= 0)
    fail("train one with mdsm classifier --sigma-max 2",
         "the classifier {} was trained without noise, and samples are noisy while they are drawn",
         wanted.classifier);
  if (wanted.highest > known)
    fail_usage(fmt::format("use --class-max {}, or train one with more noise", known),
               "the classifier {} knows noise up to {}, and --class-max is {}", wanted.classifier, known,
               wanted.highest);
}

}  // namespace

ClassifierGuidance::ClassifierGuidance(const sample::Sampler::Wanted& wanted, bool bundled)
    : name_(wanted.classifier),
      classifier_(classify::load_classifier(bundled ? bundled_classifier(name_) : classifier_path(name_))) {
  check_noise(classifier_, wanted);
  labels_ = labels_of(wanted.classes, classifier_.classes, name_);
  hash_ = hash_of(classifier_);
}

std::vector<std::string> ClassifierGuidance::classes() const {
  std::vector<std::string> names;
  for (const int label : labels_) names.push_back(classifier_.classes[static_cast<size_t>(label)]);
  return names;
}

sample::Attraction ClassifierGuidance::attraction(const Shape& image) const {
  const Shape& own = classifier_.spec.input;
  if (own != image.with_n(1))
    fail("train one at that size (mdsm classifier --pad 0 or --resize), or leave out --size",
         "the classifier {} knows images of shape {}, and these are {}", name_, own.text(),
         image.with_n(1).text());
  return [this](ConstTensorView x, std::span<const uint64_t> seeds, TensorView grad_x) {
    std::vector<int> labels;
    for (const uint64_t seed : seeds) labels.push_back(label(seed));
    classify::label_gradient(classifier_, x, labels, grad_x);
  };
}

}  // namespace mdsm::app
