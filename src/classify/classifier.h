// A trained classifier: its file, and what it says about images. The file is safetensors with the spec, the
// class names, the accuracy and the way it was trained in its metadata.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "classify/network.h"
#include "core/files.h"
#include "data/dataset.h"
#include "io/safetensors.h"

namespace mdsm::classify {

constexpr int64_t kGroup = 16;  // images that go through the network together

struct Classifier {
  ClassifierSpec spec;
  std::vector<float> weights;
  std::vector<std::string> classes;  // names, one a class
  nlohmann::json info;               // "trained", "accuracy", ...: what the file says beside
};

void save_classifier(const fs::path& path, const Classifier& classifier, io::StoredType type);
Classifier load_classifier(const fs::path& path);
// Rounds the weights to what a float16 file will hold.
void round_to_half(Classifier& classifier);

struct Classification {
  int64_t n = 0;
  std::vector<float> features;       // (N x features)
  std::vector<float> probabilities;  // (N x classes)
};

// All images of the set. `done` is told the number finished; it may be empty.
Classification classify(const Classifier& classifier, const data::Dataset& data,
                        const std::function<void(int64_t)>& done = {});
// The same for images in memory, one call for all of x.
Classification classify(const Classifier& classifier, ConstTensorView x);

// grad_x of each image: the gradient of -log p(its label).
void label_gradient(const Classifier& classifier, ConstTensorView x, std::span<const int> labels,
                    TensorView grad_x);
// The highest noise level it was trained for; 0: none.
double trained_noise(const Classifier& classifier);

// Index of the largest of each row.
std::vector<int> most_likely(std::span<const float> probabilities, int64_t classes);

struct Accuracy {
  int64_t n = 0, right = 0;
  double rate = 0, standard_error = 0;
};
// The share of labelled images that get their label. Classes are compared by name where both sides have
// names, so a set that lacks a class is measured rightly; a class the classifier does not know is an error.
Accuracy accuracy(const Classifier& classifier, const data::Dataset& data,
                  const std::function<void(int64_t)>& done = {});
nlohmann::json to_json(const Accuracy& accuracy);

}  // namespace mdsm::classify
