#include "engine/native/plan.h"

#include <algorithm>

#include "core/threads.h"
#include "engine/native/profile.h"

namespace mdsm::engine::native {
namespace {

constexpr const char* kElementwise = "elementwise";  // the profile's row for everything that is no layer

using Op = Epilogue::Op;

// Work of the head and of the first convolution on n images, for the profile.
double head_flop(const network::Spec& spec, int64_t n) {
  return 2.0 * (spec.head == network::Head::quadratic ? 3 : 1) * static_cast<double>(n * features(spec));
}
double input_flop(const network::Spec& spec, int64_t n) {
  return 2.0 * 9 * static_cast<double>(n * spec.width * spec.input(1).count());
}

}  // namespace

void Plan::Layer::forward(const char* pass, const float* src, ConvolutionWeights& weights,
                          const Epilogue& epilogue, float* dst, float* scratch) {
  const ProfileScope scope(name, pass, flop);
  convolution.forward(src, weights, epilogue, dst, scratch);
}

void Plan::Layer::backward(const char* pass, const float* diff_dst, ConvolutionWeights& weights,
                           const Epilogue& epilogue, float* diff_src, float* scratch) {
  const ProfileScope scope(name, pass, flop);
  convolution.backward(diff_dst, weights, epilogue, diff_src, scratch);
}

void Plan::Layer::gradient(const float* src, const float* diff_dst, ConvolutionWeights& weights,
                           std::span<float> plain, float* scratch) {
  const ProfileScope scope(name, kWeightGradients, static_cast<double>(gradient_terms) * flop);
  convolution.gradient(src, diff_dst, weights, plain.data(), scratch);
}

Plan::BlockLayers Plan::make_block(const network::Block& block, Arithmetic arithmetic) const {
  const auto layer = [&](const char* name, int64_t out, int64_t size, int64_t kernel) {
    const ConvolutionShape plain{n_, block.in, out, size, kernel};
    const ConvolutionShape padded{n_, layout_.padded(block.in), layout_.padded(out), size, kernel};
    const int64_t terms = gradient_terms(mode_);
    return Layer{Convolution(padded, layout_, arithmetic, terms), block.name + name, plain.flop(), terms};
  };
  return {block, layer(".conv_1", block.in, block.size, 3),
          layer(".conv_2", block.out, block.size, block.down ? 4 : 3),
          layer(".conv_shortcut", block.out, block.out_size(), 1)};
}

Plan::Plan(const network::Spec& spec, Layout layout, Arithmetic arithmetic, Mode mode, int64_t n)
    : spec_(spec), layout_(layout), mode_(mode), threads_(thread_count()), n_(n) {
  for (const network::Block& block : network::blocks(spec)) {
    layers_.push_back(make_block(block, arithmetic));
    for (const Layer* layer : {&layers_.back().conv_1, &layers_.back().conv_2, &layers_.back().shortcut})
      scratch_count_ =
          std::max({scratch_count_, layer->convolution.scratch_count(), n * layout.padded(block.out)});
  }
  arena_count_ = buffers_in(nullptr).count;
}

Buffers Plan::buffers_in(float* arena) const {
  return lay_out(spec_, layout_, mode_, n_, scratch_count_, arena);
}

void Plan::energy(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy) {
  Buffers buffers = buffers_in(arena);
  forward(weights, buffers, x, energy);
}

void Plan::gradient(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy,
                    float* grad_x) {
  Buffers buffers = buffers_in(arena);
  forward(weights, buffers, x, energy);
  backward(weights, buffers, grad_x);
}

void Plan::objective(NetworkWeights& weights, float* arena, const float* clean, const float* noisy,
                     std::span<const float> weight, std::span<float> residual, std::span<float> energy,
                     std::span<float> gradient) {
  Buffers buffers = buffers_in(arena);
  forward(weights, buffers, noisy, energy);
  backward(weights, buffers, buffers.grad_x);
  tangent_direction(buffers, clean, noisy, weight, residual);
  tangent(weights, buffers);
  second_backward(weights, buffers, gradient);
}

float* Plan::next_h(Buffers& buffers, size_t i) const {
  return i + 1 < layers_.size() ? buffers.block[i + 1].h : buffers.last_h;
}

void Plan::forward(NetworkWeights& weights, Buffers& buffers, const float* x, std::span<float> energy) {
  const int64_t image = spec_.input(1).count();
  {
    const ProfileScope scope("conv1", kForwardPass, input_flop(spec_, n_));
    const Epilogue end{.bias = weights.input_bias.data(), .second = buffers.block[0].a};
    parallel_for(n_, 1, [&](int64_t begin, int64_t last) {
      for (int64_t i = begin; i < last; ++i) {
        float* const bordered = buffers.x + i * bordered_image();
        with_border(x + i * image, bordered);
        kernels().input_forward(weights.input, bordered, i, end, buffers.block[0].h);
      }
    });
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    auto& [block, conv_1, conv_2, shortcut] = layers_[i];
    BlockWeights& weight = weights.blocks[i];
    const BlockBuffers& buffer = buffers.block[i];
    float* const next = next_h(buffers, i);
    if (block.down) pool(kForwardPass, block, buffer.h, buffer.s);
    conv_1.forward(kForwardPass, buffer.a, weight.conv_1, {.op = Op::elu}, buffer.b, buffers.scratch);
    shortcut.forward(kForwardPass, buffer.s, weight.shortcut, {}, next, buffers.scratch);
    float* const next_a = i + 1 < layers_.size() ? buffers.block[i + 1].a : nullptr;
    conv_2.forward(kForwardPass, buffer.b, weight.conv_2,
                   {.bias = weight.bias.data(), .add = next, .second = next_a}, next, buffers.scratch);
  }
  const ProfileScope scope("head", kForwardPass, head_flop(spec_, n_));
  weights.head.energy(buffers.last_h, energy);
}

void Plan::pool(const char* pass, const network::Block& block, const float* from, float* to) const {
  const ProfileScope scope(kElementwise, pass, 0);
  const int64_t planes = n_ * layout_.padded(block.in) / layout_.block;
  const int64_t plane = block.size * block.size * layout_.block;
  parallel_for(planes, 1, [&](int64_t begin, int64_t end) {
    kernels().pool(from + begin * plane, to + begin * plane / 4, end - begin, block.size, layout_.block);
  });
}

void Plan::backward(NetworkWeights& weights, Buffers& buffers, float* grad_x) {
  {
    const ProfileScope scope("head", kBackwardPass, head_flop(spec_, n_));
    weights.head.delta(buffers.last_h, n_, buffers.last_delta);
  }
  const float* delta_out = buffers.last_delta;
  for (size_t i = layers_.size(); i-- > 0;) {
    auto& [block, conv_1, conv_2, shortcut] = layers_[i];
    BlockWeights& weight = weights.blocks[i];
    const BlockBuffers& buffer = buffers.block[i];
    conv_2.backward(kBackwardPass, delta_out, weight.conv_2,
                    {.raw = buffer.delta_b, .op = Op::slope, .y = buffer.b}, buffer.delta_u, buffers.scratch);
    shortcut.backward(kBackwardPass, delta_out, weight.shortcut, {}, buffers.shortcut, buffers.scratch);
    conv_1.backward(kBackwardPass, buffer.delta_u, weight.conv_1,
                    {.raw = buffer.delta_a,
                     .op = Op::slope,
                     .y = buffer.a,
                     .add = buffers.shortcut,
                     .add_unpooled = block.down},
                    buffer.delta_h, buffers.scratch);
    delta_out = buffer.delta_h;
  }
  const ProfileScope scope("conv1", kBackwardPass, input_flop(spec_, n_));
  const int64_t image = spec_.input(1).count(), map = layout_.count(1, spec_.width, spec_.size);
  parallel_for(n_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernels().input_backward(weights.input, delta_out + i * map, grad_x + i * image);
  });
}

void Plan::tangent_direction(Buffers& buffers, const float* clean, const float* noisy,
                             std::span<const float> weight, std::span<float> residual) const {
  const ProfileScope scope(kElementwise, kTangentPass, 0);
  const int64_t image = spec_.input(1).count();
  const float kernel_variance = static_cast<float>(spec_.sigma0 * spec_.sigma0);
  parallel_for(n_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float scale = 2.0f * kernel_variance * weight[static_cast<size_t>(i)];
      double sum = 0;
      float* const v = buffers.grad_x + i * image;  // in its place
      for (int64_t p = 0; p < image; ++p) {
        const float r = clean[i * image + p] - noisy[i * image + p] + kernel_variance * v[p];
        sum += static_cast<double>(r) * r;
        v[p] = scale * r;
      }
      with_border(v, buffers.v + i * bordered_image());
      residual[static_cast<size_t>(i)] = static_cast<float>(sum);
    }
  });
}

int64_t Plan::bordered_image() const { return spec_.channels * (spec_.size + 2) * (spec_.size + 2); }

void Plan::with_border(const float* image, float* bordered) const {
  const int64_t size = spec_.size, row = size + 2;
  std::fill_n(bordered, bordered_image(), 0.0f);
  for (int64_t c = 0; c < spec_.channels; ++c)
    for (int64_t y = 0; y < size; ++y)
      std::copy_n(image + (c * size + y) * size, size, bordered + (c * row + y + 1) * row + 1);
}

void Plan::tangent(NetworkWeights& weights, Buffers& buffers) {
  {
    const ProfileScope scope("conv1", kTangentPass, input_flop(spec_, n_));
    const BlockBuffers& first = buffers.block[0];
    const Epilogue end{.second = first.adot, .second_y = first.a};
    parallel_for(n_, 1, [&](int64_t begin, int64_t last) {
      for (int64_t i = begin; i < last; ++i)
        kernels().input_forward(weights.input, buffers.v + i * bordered_image(), i, end, first.hdot);
    });
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    auto& [block, conv_1, conv_2, shortcut] = layers_[i];
    BlockWeights& weight = weights.blocks[i];
    const BlockBuffers& buffer = buffers.block[i];
    const bool last = i + 1 == layers_.size();
    float* const next = last ? buffers.last_hdot : buffers.block[i + 1].hdot;
    Epilogue end{.add = next};
    if (!last) {
      end.second = buffers.block[i + 1].adot;
      end.second_y = buffers.block[i + 1].a;
    }
    if (block.down) pool(kTangentPass, block, buffer.hdot, buffer.sdot);
    conv_1.forward(kTangentPass, buffer.adot, weight.conv_1, {.op = Op::slope, .y = buffer.b}, buffer.bdot,
                   buffers.scratch);
    shortcut.forward(kTangentPass, buffer.sdot, weight.shortcut, {}, next, buffers.scratch);
    conv_2.forward(kTangentPass, buffer.bdot, weight.conv_2, end, next, buffers.scratch);
  }
}

void Plan::second_backward(NetworkWeights& weights, Buffers& buffers, std::span<float> gradient) {
  const auto part = [&](const network::ParameterInfo& info) {
    return gradient.subspan(info.offset, info.count);
  };
  {
    // Its tangent, its second backward pass and its two weight gradients in one go.
    const ProfileScope scope("head", kSecondBackwardPass, head_flop(spec_, 4 * n_));
    weights.head.second_order(buffers.last_h, buffers.last_hdot, n_, buffers.last_gamma, gradient);
  }
  const float* gamma_out = buffers.last_gamma;  // and, behind it, delta_out: a doubled batch
  float* const scratch = buffers.scratch;
  for (size_t i = layers_.size(); i-- > 0;) {
    auto& [block, conv_1, conv_2, shortcut] = layers_[i];
    BlockWeights& weight = weights.blocks[i];
    const BlockBuffers& buffer = buffers.block[i];

    conv_2.gradient(buffer.b, gamma_out, weight.conv_2, part(weight.conv_2_info), scratch);
    shortcut.gradient(buffer.s, gamma_out, weight.shortcut, part(weight.shortcut_info), scratch);
    add_bias_gradient(gamma_out, block.out, block.out_size(), scratch,
                      {part(weight.conv_2_bias_info), part(weight.shortcut_bias_info)});

    conv_2.backward(kSecondBackwardPass, gamma_out, weight.conv_2,
                    {.op = Op::bend, .y = buffer.b, .delta = buffer.delta_b, .ydot = buffer.bdot},
                    buffer.gamma_u, scratch);
    conv_1.gradient(buffer.a, buffer.gamma_u, weight.conv_1, part(weight.conv_1_info), scratch);

    shortcut.backward(kSecondBackwardPass, gamma_out, weight.shortcut, {}, buffers.shortcut, scratch);
    conv_1.backward(kSecondBackwardPass, buffer.gamma_u, weight.conv_1,
                    {.op = Op::bend,
                     .y = buffer.a,
                     .delta = buffer.delta_a,
                     .ydot = buffer.adot,
                     .add = buffers.shortcut,
                     .add_unpooled = block.down},
                    buffer.gamma_h, scratch);
    gamma_out = buffer.gamma_h;
  }
  add_bias_gradient(gamma_out, spec_.width, spec_.size, scratch, {part(weights.input_bias_info)});
  input_gradient(weights, {{buffers.x, buffers.block[0].gamma_h}, {buffers.v, buffers.block[0].delta_h}},
                 part(weights.input_info));
}

void Plan::input_gradient(NetworkWeights& weights, std::initializer_list<InputTerm> terms,
                          std::span<float> gradient) const {
  const ProfileScope scope("conv1", kWeightGradients,
                           static_cast<double>(terms.size()) * input_flop(spec_, n_));
  const int64_t map = layout_.count(1, spec_.width, spec_.size), image = bordered_image();
  // A fixed number of sums, added in order: the same bits with any number of threads.
  constexpr int64_t kSums = 16;
  const auto count = static_cast<int64_t>(weights.input_weights.size());
  FloatBuffer sums(static_cast<size_t>(kSums * count));
  std::fill_n(sums.data(), sums.size(), 0.0f);
  parallel_for(kSums, 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k)
      for (int64_t i = n_ * k / kSums; i < n_ * (k + 1) / kSums; ++i)
        for (const auto& [bordered, delta] : terms)
          kernels().input_weights(weights.input, bordered + i * image, delta + i * map,
                                  sums.data() + k * count);
  });
  for (int64_t k = 0; k < kSums; ++k) add_input_gradient(weights, sums.data() + k * count, gradient);
}

void Plan::add_bias_gradient(const float* gamma, int64_t channels, int64_t size, float* scratch,
                             std::initializer_list<std::span<float>> biases) const {
  const ProfileScope scope(kElementwise, kWeightGradients, 0);
  const int64_t block = layout_.block, padded = layout_.padded(channels), blocks = padded / block;
  parallel_for(n_ * blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t plane = first; plane < last; ++plane)
      kernels().plane_sum(gamma + plane * size * size * block, scratch + plane * block, size * size, block);
  });
  for (int64_t c = 0; c < channels; ++c) {
    double total = 0;
    for (int64_t i = 0; i < n_; ++i) total += scratch[i * padded + c];
    for (const std::span<float>& bias : biases) bias[static_cast<size_t>(c)] += static_cast<float>(total);
  }
}

}  // namespace mdsm::engine::native
