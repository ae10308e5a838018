// Classes that samples are to show, by a classifier that was trained on noisy images (classifier guidance). A
// sample's class depends on its seed alone.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "classify/classifier.h"
#include "sample/registry.h"

namespace mdsm::app {

class ClassifierGuidance {
 public:
  // Throws where the classifier is not to be had, was trained without noise, or knows no such class.
  // bundled: its name is that of one that comes with mdsm, whatever lies in this folder.
  ClassifierGuidance(const sample::Sampler::Wanted& wanted, bool bundled);

  // For images of this shape. Use it as long as the ClassifierGuidance lives.
  sample::Attraction attraction(const Shape& image) const;
  // Their names in turn: seed s has number s modulo their number.
  std::vector<std::string> classes() const;
  // Of all in the classifier that samples depend on.
  const nlohmann::json& hash() const { return hash_; }

 private:
  int label(uint64_t seed) const { return labels_[seed % labels_.size()]; }

  std::string name_;
  classify::Classifier classifier_;
  std::vector<int> labels_;  // in turn
  nlohmann::json hash_;
};

}  // namespace mdsm::app
