// All weights of the network in the orders the native engine computes with, refreshed from the plain ones.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/native/convolution.h"
#include "engine/native/fusion.h"
#include "engine/native/head.h"
#include "engine/native/kernels.h"

namespace mdsm::engine::native {

// The weights (out, in, k, k) of one convolution, and how they lie in the parameters: some input channels of
// a larger one's; those of an upsampled convolution as those of the pooled one which is its way back,
// channels exchanged, taps turned round and four times as large (a mean is a quarter of a sum).
struct WeightPart {
  ConvolutionPart which;
  int64_t out = 0, in = 0, taps = 0;  // of the convolution
  int64_t all_in = 0;                 // input channels in the parameters

  bool whole() const { return in == all_in && !which.upsampled; }
  int64_t count() const { return out * in * taps; }
  void take(const float* parameters, float* own) const;
  void add_gradient(const float* own, float* gradient) const;
};

struct StepWeights {
  std::optional<ConvolutionWeights> packed;  // not of the first convolution
  WeightPart part;
  FloatBuffer own, own_gradient;  // where they are a part
  network::ParameterInfo info;
  std::vector<network::ParameterInfo> bias_infos;  // of all convolutions whose results are added here
  FloatBuffer bias;                                // their sum
};

struct NetworkWeights {
  // image: of one image.
  NetworkWeights(const Fusion& fusion, const Shape& image, Layout layout);
  void set(std::span<const float> parameters);  // in parameter_layout() order; must stay until the next set()

  Layout layout;
  int64_t channels, width;         // of the image, and of the first convolution's result
  FloatBuffer input_weights;       // of the first convolution, in kernel order
  std::vector<StepWeights> steps;  // empty ones for steps that are no convolutions
  int input_step = -1;
  std::unique_ptr<HeadLayer> head;  // null where the head has no parameters

  InputConvolution input(int64_t height, int64_t image_width) const {
    return {channels, layout.padded(width), height, image_width, layout.block, input_weights.data()};
  }
};

// Adds the gradient of the first convolution, in kernel order (out/block, channels, 3, 3, block), to the
// plain one.
void add_input_gradient(const NetworkWeights& weights, const float* gradient, std::span<float> plain);

}  // namespace mdsm::engine::native
