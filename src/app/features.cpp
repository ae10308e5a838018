#include "app/features.h"

#include <cmath>

#include "core/error.h"
#include "eval/tensor_images.h"
#include "network/bundled.h"

namespace mdsm::app {
namespace {}  // namespace

std::vector<std::string> bundled_classifiers() {
  std::vector<std::string> names;
  for (const std::string& name : network::list_bundled())
    if (name.starts_with(network::kClassifierPrefix))
      names.push_back(name.substr(network::kClassifierPrefix.size()));
  return names;
}

fs::path classifier_path(const std::string& given) {
  std::error_code error;
  if (fs::is_regular_file(given, error)) return given;
  if (const auto bundled = network::find_bundled(std::string(network::kClassifierPrefix) + given))
    return *bundled;
  const auto names = bundled_classifiers();
  fail(names.empty()
           ? "make one with mdsm classifier, or set MDSM_MODELS to the folder of the bundled ones"
           : fmt::format("make one with mdsm classifier, or use a bundled one: {}", fmt::join(names, ", ")),
       "{}: {}", given,
       fs::is_directory(given, error) ? "is a folder, not a classifier" : "no such classifier");
}

fs::path default_classifier(const std::string& source) {
  const std::string name = source.substr(0, source.find(':'));
  if (const auto bundled = network::find_bundled(std::string(network::kClassifierPrefix) + name))
    return *bundled;
  fail_usage("give --classifier (made by mdsm classifier) or --features FILE.pt",
             "no classifier comes with mdsm for {}", source.empty() ? "a statistics file" : source);
}

void FeatureChoice::declare(OptionSet& options, const char* without) {
  options.group("Features");
  options
      .add(
          "classifier", classifier,
          fmt::format("a file of mdsm classifier, or the bundled fashion-mnist, mnist or cifar10; empty = {}",
                      without))
      .meta("CLASSIFIER");
  options.add("features", script, "TorchScript file, such as inception-2015-12-05.pt (docs/evaluation.md)")
      .meta("FILE.pt");
  options
      .add("feature-resize", resize,
           "with --features: antialiased resize to a square of so many pixels; 0 = left to the network")
      .range(0, 4096);
}

void FeatureChoice::check() const {
  if (!classifier.empty() && !script.empty())
    fail_usage("choose one", "--classifier and --features exclude each other");
  if (resize > 0 && script.empty())
    fail_usage("leave it out; data has --resize", "--feature-resize without --features");
}

std::unique_ptr<eval::FeatureNetwork> FeatureChoice::make(const std::string& source,
                                                          const std::string& device, int64_t batch) const {
  if (!script.empty()) return eval::script_features(script, {device, resize, batch});
  return eval::classifier_features(classifier.empty() ? default_classifier(source)
                                                      : classifier_path(classifier));
}

int64_t probe(eval::FeatureNetwork& network, const Shape& image) {
  return network.extract(eval::TensorImages(Tensor(image.with_n(1)), "a sample"), {}).dimensions;
}

}  // namespace mdsm::app
