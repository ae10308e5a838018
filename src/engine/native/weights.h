// All weights of the network in the orders the native engine computes with, refreshed from the plain ones.
#pragma once

#include <vector>

#include "engine/native/convolution.h"
#include "engine/native/head.h"
#include "engine/native/kernels.h"

namespace mdsm::engine::native {

struct BlockWeights {
  ConvolutionWeights conv_1, conv_2, shortcut;
  network::ParameterInfo conv_1_info, conv_2_info, shortcut_info, conv_2_bias_info, shortcut_bias_info;
  FloatBuffer bias;  // of conv_2 and the shortcut together: their outputs are added
};

struct NetworkWeights {
  NetworkWeights(const network::Spec& spec, Layout layout);
  void set(const network::Parameters& parameters);  // must stay until the next set()

  Layout layout;
  InputConvolution input;  // its weights point into input_weights
  network::ParameterInfo input_info, input_bias_info;
  FloatBuffer input_weights, input_bias;
  std::vector<BlockWeights> blocks;
  HeadLayer head;
};

// Adds the gradient of the first convolution, in kernel order (out/block, channels, 3, 3, block), to the
// plain one.
void add_input_gradient(const NetworkWeights& weights, const float* gradient, std::span<float> plain);

}  // namespace mdsm::engine::native
