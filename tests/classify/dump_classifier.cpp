// Writes a classifier, a batch, and what the library computes for them, for a comparison with PyTorch:
// dump_classifier FOLDER
#include <cstdio>

#include "classify/classifier.h"
#include "core/error.h"
#include "core/random.h"
#include "io/npy.h"

using namespace mdsm;
using namespace mdsm::classify;

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const fs::path folder = arguments[1];
  try {
    Classifier classifier;
    classifier.spec = {{1, 3, 20, 13}, 6, 11, 5, 0.4f, 0.3f};
    classifier.weights = initial_weights(classifier.spec, 3);
    for (size_t i = 0; i < classifier.weights.size(); ++i)  // the biases as well
      classifier.weights[i] += 0.01f * (static_cast<float>(i % 7) - 3);
    classifier.classes = {"a", "b", "c", "d", "e"};
    classifier.info = nlohmann::json::object();
    save_classifier(folder / "classifier.safetensors", classifier, io::StoredType::float32);
    const int64_t n = 7;
    Tensor x({n, 3, 20, 13});
    RandomStream(4, Purpose::check).fill_uniform(x.values(), 0, 1);
    const std::vector<int> labels = {0, 1, 2, 3, 4, 0, 1};
    io::write_npy(folder / "x.npy", {n, 3, 20, 13}, x.values());
    ClassifierGroup group(classifier.spec, n);
    group.forward(classifier.weights, x);
    io::write_npy(folder / "features.npy", {n, classifier.spec.features}, group.features());
    io::write_npy(folder / "probabilities.npy", {n, classifier.spec.classes}, group.probabilities());
    std::vector<float> gradient(classifier.weights.size());
    const double loss = group.backward(classifier.weights, labels, gradient);
    io::write_npy(folder / "gradient.npy", {static_cast<int64_t>(gradient.size())}, gradient);
    std::printf("%.9g\n", loss);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
