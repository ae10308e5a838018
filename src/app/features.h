// What the jobs that measure samples share: how classifiers are named, and which network computes features.
#pragma once

#include <memory>
#include <string>

#include "core/files.h"
#include "core/options.h"
#include "eval/features.h"

namespace mdsm::app {

// A file as it is; a bundled name (fashion-mnist, mnist, cifar10) as the file classifier-NAME that ships.
// Throws with the names there are when neither exists.
fs::path classifier_path(const std::string& given);
// Names of the bundled ones.
std::vector<std::string> bundled_classifiers();
// The bundled one that belongs to a data source ("mnist:/a/folder" is mnist), whatever files lie in the
// working directory. Throws when there is none.
fs::path default_classifier(const std::string& source);

// --classifier, --features and --feature-resize: which network computes features.
struct FeatureChoice {
  std::string classifier, script;
  int64_t resize = 0;

  void declare(OptionSet& options, const char* without);  // without: what an empty --classifier means
  void check() const;                                     // usage errors
  bool given() const { return !classifier.empty() || !script.empty(); }
  // source: the data, whose bundled classifier is taken where nothing is given.
  std::unique_ptr<eval::FeatureNetwork> make(const std::string& source, const std::string& device,
                                             int64_t batch) const;
};

// Sends one black image of the shape through the network, so that what does not fit shows before the work.
// Returns the number of features.
int64_t probe(eval::FeatureNetwork& network, const Shape& image);

}  // namespace mdsm::app
