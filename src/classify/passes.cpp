// The forward and the backward pass of the classifier.
#include <algorithm>
#include <cmath>

#include "classify/columns.h"
#include "classify/network.h"
#include "core/error.h"
#include "linalg/gemm.h"

namespace mdsm::classify {
namespace {

// out (n, outputs) = in (n, inputs) * transposed(weight) + bias
void dense(const float* weight, const float* bias, const float* in, int64_t n, int64_t inputs,
           int64_t outputs, float* out) {
  for (int64_t i = 0; i < n; ++i) std::copy_n(bias, outputs, out + i * outputs);
  linalg::multiply(n, outputs, inputs, {in, inputs}, {weight, inputs, linalg::Op::transposed}, out, outputs,
                   true);
}

// Adds to the gradients of weight and bias.
void dense_gradient(const float* in, const float* d_out, int64_t n, int64_t inputs, int64_t outputs,
                    float* d_weight, float* d_bias) {
  linalg::multiply(outputs, inputs, n, {d_out, outputs, linalg::Op::transposed}, {in, inputs}, d_weight,
                   inputs, true);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < outputs; ++j) d_bias[j] += d_out[i * outputs + j];
}

// d_in (n, inputs) = d_out (n, outputs) * weight
void dense_back(const float* weight, const float* d_out, int64_t n, int64_t inputs, int64_t outputs,
                float* d_in) {
  linalg::multiply(n, inputs, outputs, {d_out, outputs}, {weight, inputs}, d_in, inputs);
}

void relu(std::span<float> values) {
  for (float& value : values) value = std::max(value, 0.0f);
}

// d becomes 0 where the output of the ReLU is.
void relu_back(const float* out, std::span<float> d) {
  for (size_t i = 0; i < d.size(); ++i) d[i] = out[i] > 0 ? d[i] : 0;
}

void softmax(std::span<float> row) {
  const float top = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (float& value : row) sum += value = std::exp(value - top);
  for (float& value : row) value = static_cast<float>(value / sum);
}

}  // namespace

void ClassifierGroup::convolve(Stage& stage, const float* weights, int64_t image) {
  const int64_t area = stage.h * stage.w, k = stage.in * 9;
  classify::unfold(stage.input.data() + image * stage.in * area, stage.in, stage.h, stage.w, columns_.data());
  float* out = stage.before.data() + image * stage.out * area;
  for (int64_t c = 0; c < stage.out; ++c) std::fill_n(out + c * area, area, weights[stage.bias + c]);
  linalg::multiply(stage.out, area, k, {weights + stage.weight, k}, {columns_.data(), area}, out, area, true);
  relu({out, as_size(stage.out * area)});
  classify::pool(out, stage.out, stage.h, stage.w,
                 stage.pooled.data() + image * stage.out * (stage.h / 2) * (stage.w / 2));
}

// pooled holds the gradient by the stage's result on entry; input gets the one by its input. gradient: null
// where that by the weights is not wanted.
void ClassifierGroup::convolve_back(Stage& stage, const float* weights, int64_t image, float* gradient,
                                    bool to_input) {
  const int64_t area = stage.h * stage.w, k = stage.in * 9;
  const float* before = stage.before.data() + image * stage.out * area;
  float* input = stage.input.data() + image * stage.in * area;
  classify::pool_back(before, stage.pooled.data() + image * stage.out * (stage.h / 2) * (stage.w / 2),
                      stage.out, stage.h, stage.w, d_before_.data());
  relu_back(before, {d_before_.data(), as_size(stage.out * area)});
  if (gradient) {
    classify::unfold(input, stage.in, stage.h, stage.w, columns_.data());
    linalg::multiply(stage.out, k, area, {d_before_.data(), area},
                     {columns_.data(), area, linalg::Op::transposed}, gradient + stage.weight, k, true);
    for (int64_t c = 0; c < stage.out; ++c)
      for (int64_t p = 0; p < area; ++p) gradient[stage.bias + c] += d_before_[as_size(c * area + p)];
  }
  if (!to_input) return;
  linalg::multiply(k, area, stage.out, {weights + stage.weight, k, linalg::Op::transposed},
                   {d_before_.data(), area}, d_columns_.data(), area);
  classify::fold(d_columns_.data(), stage.in, stage.h, stage.w, input);
}

void ClassifierGroup::forward(std::span<const float> weights, ConstTensorView x) {
  n_ = x.shape.n;
  const auto values = x.values();
  if (x.shape.with_n(1) != spec_.input || as_size(n_ * spec_.features) > features_.size())
    fail("give images of the classifier's size", "{} images for a classifier of {}", x.shape.text(),
         spec_.input.text());
  const float scale = 1 / spec_.deviation;
  std::transform(values.begin(), values.end(), stages_[0].input.begin(),
                 [&](float value) { return (value - spec_.mean) * scale; });
  for (size_t i = 0; i < kConvolutions; ++i) {
    if (i > 0) stages_[i].input.assign(stages_[i - 1].pooled.begin(), stages_[i - 1].pooled.end());
    for (int64_t image = 0; image < n_; ++image) convolve(stages_[i], weights.data(), image);
  }
  const auto* layers = &layout_[2 * kConvolutions];
  const int64_t inputs = layers[0].shape[1];
  dense(weights.data() + layers[0].offset, weights.data() + layers[1].offset, stages_.back().pooled.data(),
        n_, inputs, spec_.features, features_.data());
  relu({features_.data(), as_size(n_ * spec_.features)});
  dense(weights.data() + layers[2].offset, weights.data() + layers[3].offset, features_.data(), n_,
        spec_.features, spec_.classes, output_.data());
  for (int64_t i = 0; i < n_; ++i) softmax({output_.data() + i * spec_.classes, as_size(spec_.classes)});
}

double ClassifierGroup::backward(std::span<const float> weights, std::span<const int> labels,
                                 std::span<float> gradient) {
  const double loss = to_logits(labels);
  back(weights.data(), gradient.data(), false);
  return loss;
}

void ClassifierGroup::image_gradient(std::span<const float> weights, std::span<const int> labels,
                                     TensorView grad_x) {
  to_logits(labels);
  back(weights.data(), nullptr, true);
  const float scale = 1 / spec_.deviation;
  const std::span<float> out = grad_x.values();
  for (size_t i = 0; i < out.size(); ++i) out[i] = stages_[0].input[i] * scale;
}

// The sum of -log p(label); the probabilities become its gradient by the inputs of the softmax.
double ClassifierGroup::to_logits(std::span<const int> labels) {
  double loss = 0;
  for (int64_t i = 0; i < n_; ++i) {
    float& p = output_[as_size(i * spec_.classes + labels[as_size(i)])];
    loss -= std::log(std::max(p, 1e-30f));
    p -= 1;
  }
  return loss;
}

// g: of the weights; null where it is not wanted. to_image: the first stage's input gets the images'.
void ClassifierGroup::back(const float* w, float* g, bool to_image) {
  const auto* layers = &layout_[2 * kConvolutions];
  const int64_t inputs = layers[0].shape[1];
  if (g)
    dense_gradient(features_.data(), output_.data(), n_, spec_.features, spec_.classes, g + layers[2].offset,
                   g + layers[3].offset);
  dense_back(w + layers[2].offset, output_.data(), n_, spec_.features, spec_.classes, d_features_.data());
  relu_back(features_.data(), {d_features_.data(), as_size(n_ * spec_.features)});
  Stage& last = stages_.back();
  if (g)
    dense_gradient(last.pooled.data(), d_features_.data(), n_, inputs, spec_.features, g + layers[0].offset,
                   g + layers[1].offset);
  dense_back(w + layers[0].offset, d_features_.data(), n_, inputs, spec_.features, last.pooled.data());
  for (size_t i = kConvolutions; i-- > 0;) {
    for (int64_t image = 0; image < n_; ++image) convolve_back(stages_[i], w, image, g, i > 0 || to_image);
    if (i > 0) stages_[i - 1].pooled = stages_[i].input;
  }
}

}  // namespace mdsm::classify
