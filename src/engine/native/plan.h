// One batch size and one mode (energy, input gradient, training, parameter gradient of the energy): the
// convolutions for it and the passes over the network, in the order of docs/design/second_order.md. A plan
// owns no memory; it is handed the engine's arena.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "engine/native/buffers.h"
#include "engine/native/convolution.h"
#include "engine/native/weights.h"

namespace mdsm::engine::native {

class Plan {
 public:
  Plan(const network::Spec& spec, Layout layout, Arithmetic arithmetic, Mode mode, int64_t n);

  int64_t arena_count() const { return arena_count_; }
  int64_t batch() const { return n_; }
  Mode mode() const { return mode_; }
  int threads() const { return threads_; }  // scratch memory is for this number of threads only

  // x, grad_x, clean, noisy: (n,C,H,W) plain; energy, residual: (n); arena: arena_count() floats.
  void energy(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy);
  void gradient(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy,
                float* grad_x);
  // Adds d/dtheta sum_n weight_n ‖clean - noisy + sigma0² grad_x(noisy)‖² to the flat gradient.
  void objective(NetworkWeights& weights, float* arena, const float* clean, const float* noisy,
                 std::span<const float> weight, std::span<float> residual, std::span<float> energy,
                 std::span<float> gradient);

  // Adds d/dtheta sum_n weight_n E(x_n) to the flat gradient. In first_order.cpp.
  void energy_gradient(NetworkWeights& weights, float* arena, const float* x, std::span<const float> weight,
                       std::span<float> energy, std::span<float> gradient);

 private:
  // A convolution with its name and work, for the profile.
  struct Layer {
    Convolution convolution;
    std::string name;
    double flop;  // of one pass over n images by the direct algorithm, without padding channels
    int64_t gradient_terms;

    void forward(const char* pass, const float* src, ConvolutionWeights& weights, const Epilogue& epilogue,
                 float* dst, float* scratch);
    void backward(const char* pass, const float* diff_dst, ConvolutionWeights& weights,
                  const Epilogue& epilogue, float* diff_src, float* scratch);
    void gradient(const float* src, const float* diff_dst, ConvolutionWeights& weights,
                  std::span<float> plain, float* scratch);
  };
  struct BlockLayers {
    network::Block block;
    Layer conv_1, conv_2, shortcut;
  };

  BlockLayers make_block(const network::Block& block, Arithmetic arithmetic) const;
  Buffers buffers_in(float* arena) const;
  float* next_h(Buffers& buffers, size_t i) const;
  // Pass 1: h, a, b, s of every block, and the energies.
  void forward(NetworkWeights& weights, Buffers& buffers, const float* x, std::span<float> energy);
  // Pass 2: delta of every tensor, down to grad_x.
  void backward(NetworkWeights& weights, Buffers& buffers, float* grad_x);
  // r, v and the residual's norms from grad_x.
  void tangent_direction(Buffers& buffers, const float* clean, const float* noisy,
                         std::span<const float> weight, std::span<float> residual) const;
  // Pass 3: adot, bdot, sdot along v.
  void tangent(NetworkWeights& weights, Buffers& buffers);
  // Passes 4 to 6: gamma, and the weight gradients as it goes down.
  void second_backward(NetworkWeights& weights, Buffers& buffers, std::span<float> gradient);
  // Pass 2 with the weight gradients of the energies themselves.
  void first_order_backward(NetworkWeights& weights, Buffers& buffers, std::span<const float> weight,
                            std::span<float> gradient);
  // One term of the first convolution's weight gradient: images or rates, and what came back to its result.
  struct InputTerm {
    const float *bordered, *delta;
  };
  void input_gradient(NetworkWeights& weights, std::initializer_list<InputTerm> terms,
                      std::span<float> gradient) const;
  int64_t bordered_image() const;  // floats of an image with its border
  void with_border(const float* image, float* bordered) const;
  // The shortcut's input of a block that halves the image.
  void pool(const char* pass, const network::Block& block, const float* from, float* to) const;
  // Adds the sum of gamma over images and pixels to each of the biases.
  void add_bias_gradient(const float* gamma, int64_t channels, int64_t size, float* scratch,
                         std::initializer_list<std::span<float>> biases) const;

  network::Spec spec_;
  Layout layout_;
  Mode mode_;
  int threads_;
  int64_t n_, scratch_count_ = 0, arena_count_ = 0;
  std::vector<BlockLayers> layers_;
};

}  // namespace mdsm::engine::native
