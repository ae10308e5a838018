// A small convolutional classifier as pure functions of a flat weight vector: three times (3x3 convolution,
// ReLU, 2x2 maximum), a hidden layer whose ReLU outputs are the features, and a linear layer with a softmax.
// One call works on a group of images on the calling thread; batches are groups side by side.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace mdsm::classify {

struct ClassifierSpec {
  Shape input;         // n = 1
  int64_t width = 16;  // channels of the first convolution; the others have 2 and 4 times as many
  int64_t features = 128;
  int64_t classes = 10;
  float mean = 0, deviation = 1;  // of the training images; inputs are (x - mean) / deviation

  bool operator==(const ClassifierSpec&) const = default;
};

nlohmann::json to_json(const ClassifierSpec& spec);
// Throws when a member is missing or makes no sense; `where` is for the message.
ClassifierSpec classifier_spec_from_json(const nlohmann::json& values, const std::string& where);
void check(const ClassifierSpec& spec);

// Weights lie one after the other in this order: conv1.weight (C,Cin,3,3), conv1.bias (C), ...,
// features.weight (features, inputs), features.bias, classes.weight (classes, features), classes.bias.
struct ClassifierTensor {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0, count = 0;
};
std::vector<ClassifierTensor> classifier_layout(const ClassifierSpec& spec);
int64_t weight_count(const ClassifierSpec& spec);

// He's initialisation; biases are 0.
std::vector<float> initial_weights(const ClassifierSpec& spec, uint64_t seed);

// Room for the intermediate values of a group, to be reused.
class ClassifierGroup {
 public:
  ClassifierGroup(const ClassifierSpec& spec, int64_t most_images);

  // x: (n,C,H,W), n at most most_images. Results stay valid until the next call.
  void forward(std::span<const float> weights, ConstTensorView x);
  std::span<const float> features() const { return {features_.data(), as_size(n_ * spec_.features)}; }
  std::span<const float> probabilities() const { return {output_.data(), as_size(n_ * spec_.classes)}; }
  // After forward(): adds the gradient of the sum over the images of -log p(label) to `gradient` and returns
  // that sum. Uses up the probabilities.
  double backward(std::span<const float> weights, std::span<const int> labels, std::span<float> gradient);
  // After forward(), too: the gradient of -log p(label) by each image.
  void image_gradient(std::span<const float> weights, std::span<const int> labels, TensorView grad_x);

 private:
  static constexpr int kConvolutions = 3;
  struct Stage {
    int64_t in, out, h, w;                     // channels in and out, size before the pooling
    int64_t weight, bias;                      // offsets
    std::vector<float> input, before, pooled;  // (n, in,h,w), (n, out,h,w) after ReLU, (n, out,h/2,w/2)
  };
  static size_t as_size(int64_t n) { return static_cast<size_t>(n); }
  void convolve(Stage& stage, const float* weights, int64_t image);
  double to_logits(std::span<const int> labels);
  void back(const float* weights, float* gradient, bool to_image);
  void convolve_back(Stage& stage, const float* weights, int64_t image, float* gradient, bool to_input);

  ClassifierSpec spec_;
  std::vector<ClassifierTensor> layout_;
  std::vector<Stage> stages_;
  std::vector<float> features_, output_, columns_, d_columns_, d_before_, d_features_;
  int64_t n_ = 0;
};

}  // namespace mdsm::classify
