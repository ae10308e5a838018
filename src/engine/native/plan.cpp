#include "engine/native/plan.h"

#include <algorithm>

#include "core/threads.h"
#include "engine/native/profile.h"

namespace mdsm::native {
namespace {

constexpr const char* kElementwise = "elementwise";  // the profile's row for everything that is no layer
constexpr int64_t kGrain = 1 << 14;                  // floats below which a second thread does not pay

void elu(const float* x, float* y, int64_t count) {
  parallel_for(count, kGrain,
               [&](int64_t begin, int64_t end) { kernels().elu(x + begin, y + begin, end - begin); });
}

void times_elu_slope(const float* in, const float* y, float* out, int64_t count) {
  parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
    kernels().times_elu_slope(in + begin, y + begin, out + begin, end - begin);
  });
}

void second_order_slope(const float* in, const float* y, const float* delta, const float* ydot, float* out,
                        int64_t count) {
  parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
    kernels().second_order_slope(in + begin, y + begin, delta + begin, ydot + begin, out + begin,
                                 end - begin);
  });
}

// Work of the head and of the first convolution on n images, for the profile.
double head_flop(const Spec& spec, int64_t n) {
  return 2.0 * (spec.head == Head::quadratic ? 3 : 1) * static_cast<double>(n * features(spec));
}

double input_flop(const Spec& spec, int64_t n) {
  return 2.0 * 9 * static_cast<double>(n * spec.width * spec.input(1).count());
}

}  // namespace

Plan::BlockPrimitives Plan::make_block(const Block& block) const {
  using Bias = ConvolutionForward::Bias;
  const int64_t in = layout_.padded(block.in), out = layout_.padded(block.out);
  const ConvolutionShape conv_1{n_, in, in, block.size, 3},
      conv_2{n_, in, out, block.size, block.down ? 4 : 3}, shortcut{n_, in, out, block.out_size(), 1};
  const auto doubled = [](ConvolutionShape shape) {
    shape.n *= 2;
    return shape;
  };
  BlockPrimitives made{block,
                       ConvolutionForward(conv_1, layout_, Bias::no, Epilogue::elu),
                       ConvolutionForward(conv_2, layout_, Bias::yes, Epilogue::none),
                       ConvolutionForward(shortcut, layout_, Bias::no, Epilogue::accumulate),
                       {},
                       {},
                       {},
                       {},
                       {},
                       {},
                       {},
                       {}};
  if (mode_ != Mode::energy) {
    made.conv_1_back.emplace(conv_1, layout_);
    made.conv_2_back.emplace(conv_2, layout_);
    made.shortcut_back.emplace(shortcut, layout_);
  }
  if (mode_ == Mode::training) {
    made.conv_1_tangent.emplace(conv_1, layout_, Bias::no, Epilogue::none);
    made.conv_2_tangent.emplace(conv_2, layout_, Bias::no, Epilogue::none);
    made.conv_1_weights.emplace(doubled(conv_1), layout_);
    made.conv_2_weights.emplace(doubled(conv_2), layout_);
    made.shortcut_weights.emplace(doubled(shortcut), layout_);
  }
  return made;
}

Plan::Plan(const Spec& spec, Layout layout, Mode mode, int64_t n)
    : spec_(spec),
      layout_(layout),
      mode_(mode),
      n_(n),
      arena_count_(lay_out(spec, layout, mode, n, nullptr).count) {
  int64_t scratch = 0;
  for (const Block& block : blocks(spec)) {
    blocks_.push_back(make_block(block));
    if (mode != Mode::training) continue;
    const BlockPrimitives& made = blocks_.back();
    for (const auto* one : {&made.conv_1_weights, &made.conv_2_weights, &made.shortcut_weights})
      scratch = std::max(scratch, (*one)->scratch_count());
  }
  weights_scratch_ = FloatBuffer(static_cast<size_t>(scratch));
}

void Plan::energy(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy) {
  Buffers buffers = lay_out(spec_, layout_, mode_, n_, arena);
  forward(weights, buffers, x, energy);
}

void Plan::gradient(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy,
                    float* grad_x) {
  Buffers buffers = lay_out(spec_, layout_, mode_, n_, arena);
  forward(weights, buffers, x, energy);
  backward(weights, buffers, grad_x);
}

void Plan::objective(NetworkWeights& weights, float* arena, const float* clean, const float* noisy,
                     std::span<const float> weight, std::span<float> residual, std::span<float> energy,
                     std::span<float> gradient) {
  Buffers buffers = lay_out(spec_, layout_, mode_, n_, arena);
  forward(weights, buffers, noisy, energy);
  backward(weights, buffers, buffers.grad_x);
  timed(kElementwise, kTangentPass, 0, [&] { tangent_direction(buffers, clean, noisy, weight, residual); });
  tangent(weights, buffers);
  second_backward(weights, buffers, noisy, gradient);
}

float* Plan::next_h(Buffers& buffers, size_t i) const {
  return i + 1 < blocks_.size() ? buffers.block[i + 1].h : buffers.last_h;
}

void Plan::forward(NetworkWeights& weights, Buffers& buffers, const float* x, std::span<float> energy) {
  const int64_t image = spec_.input(1).count(), map = layout_.count(1, spec_.width, spec_.size);
  timed("conv1", kForwardPass, input_flop(spec_, n_), [&] {
    parallel_for(n_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        kernels().input_forward(weights.input, x + i * image, weights.input_bias.data(),
                                buffers.block[0].h + i * map);
    });
  });
  for (size_t i = 0; i < blocks_.size(); ++i) {
    BlockPrimitives& primitive = blocks_[i];
    BlockWeights& weight = weights.blocks[i];
    const BlockBuffers& buffer = buffers.block[i];
    const Block& block = primitive.block;
    timed(kElementwise, kForwardPass, 0, [&] {
      elu(buffer.h, buffer.a, layout_.count(n_, block.in, block.size));
      if (block.down) pool(block, buffer.h, buffer.s);
    });
    timed(block, BlockPart::conv_1, kForwardPass, n_,
          [&] { primitive.conv_1.run(buffer.a, weight.conv_1, nullptr, buffer.b); });
    timed(block, BlockPart::conv_2, kForwardPass, n_,
          [&] { primitive.conv_2.run(buffer.b, weight.conv_2, weight.bias.data(), next_h(buffers, i)); });
    timed(block, BlockPart::shortcut, kForwardPass, n_,
          [&] { primitive.shortcut.run(buffer.s, weight.shortcut, nullptr, next_h(buffers, i)); });
  }
  timed("head", kForwardPass, head_flop(spec_, n_), [&] { weights.head.energy(buffers.last_h, energy); });
}

void Plan::pool(const Block& block, const float* from, float* to) const {
  const int64_t planes = n_ * layout_.padded(block.in) / layout_.block;
  const int64_t plane = block.size * block.size * layout_.block;
  parallel_for(planes, 1, [&](int64_t begin, int64_t end) {
    kernels().pool(from + begin * plane, to + begin * plane / 4, end - begin, block.size, layout_.block);
  });
}

void Plan::add_shortcut(const Block& block, const float* shortcut, float* out) const {
  if (!block.down) {
    parallel_for(layout_.count(n_, block.in, block.size), kGrain, [&](int64_t begin, int64_t end) {
      kernels().add(shortcut + begin, out + begin, end - begin);
    });
    return;
  }
  const int64_t planes = n_ * layout_.padded(block.in) / layout_.block,
                plane = block.size * block.size * layout_.block;
  parallel_for(planes, 1, [&](int64_t begin, int64_t end) {
    kernels().add_unpooled(shortcut + begin * plane / 4, out + begin * plane, end - begin, block.size,
                           layout_.block);
  });
}

void Plan::backward(NetworkWeights& weights, Buffers& buffers, float* grad_x) {
  timed("head", kBackwardPass, head_flop(spec_, n_),
        [&] { weights.head.delta(buffers.last_h, n_, buffers.last_delta); });
  const float* delta_out = buffers.last_delta;
  for (size_t i = blocks_.size(); i-- > 0;) {
    BlockPrimitives& primitive = blocks_[i];
    BlockWeights& weight = weights.blocks[i];
    const BlockBuffers& buffer = buffers.block[i];
    const Block& block = primitive.block;
    const int64_t count = layout_.count(n_, block.in, block.size);
    timed(block, BlockPart::conv_2, kBackwardPass, n_,
          [&] { primitive.conv_2_back->run(delta_out, weight.conv_2, buffer.delta_b); });
    timed(kElementwise, kBackwardPass, 0,
          [&] { times_elu_slope(buffer.delta_b, buffer.b, buffer.delta_u, count); });
    timed(block, BlockPart::conv_1, kBackwardPass, n_,
          [&] { primitive.conv_1_back->run(buffer.delta_u, weight.conv_1, buffer.delta_a); });
    timed(block, BlockPart::shortcut, kBackwardPass, n_,
          [&] { primitive.shortcut_back->run(delta_out, weight.shortcut, buffers.shortcut); });
    timed(kElementwise, kBackwardPass, 0, [&] {
      times_elu_slope(buffer.delta_a, buffer.a, buffer.delta_h, count);
      add_shortcut(block, buffers.shortcut, buffer.delta_h);
    });
    delta_out = buffer.delta_h;
  }
  const int64_t image = spec_.input(1).count(), map = layout_.count(1, spec_.width, spec_.size);
  timed("conv1", kBackwardPass, input_flop(spec_, n_), [&] {
    parallel_for(n_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        kernels().input_backward(weights.input, delta_out + i * map, grad_x + i * image);
    });
  });
}

void Plan::tangent_direction(Buffers& buffers, const float* clean, const float* noisy,
                             std::span<const float> weight, std::span<float> residual) const {
  const int64_t image = spec_.input(1).count();
  const float kernel_variance = static_cast<float>(spec_.sigma0 * spec_.sigma0);
  parallel_for(n_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float scale = 2.0f * kernel_variance * weight[static_cast<size_t>(i)];
      double sum = 0;
      for (int64_t p = i * image; p < (i + 1) * image; ++p) {
        const float r = clean[p] - noisy[p] + kernel_variance * buffers.grad_x[p];
        sum += static_cast<double>(r) * r;
        buffers.v[p] = scale * r;
      }
      residual[static_cast<size_t>(i)] = static_cast<float>(sum);
    }
  });
}

void Plan::tangent(NetworkWeights& weights, Buffers& buffers) {
  const int64_t image = spec_.input(1).count(), map = layout_.count(1, spec_.width, spec_.size);
  timed("conv1", kTangentPass, input_flop(spec_, n_), [&] {
    parallel_for(n_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        kernels().input_forward(weights.input, buffers.v + i * image, nullptr,
                                buffers.block[0].hdot + i * map);
    });
  });
  for (size_t i = 0; i < blocks_.size(); ++i) {
    BlockPrimitives& primitive = blocks_[i];
    BlockWeights& weight = weights.blocks[i];
    const BlockBuffers& buffer = buffers.block[i];
    const Block& block = primitive.block;
    const int64_t count = layout_.count(n_, block.in, block.size);
    float* next = i + 1 < blocks_.size() ? buffers.block[i + 1].hdot : buffers.last_hdot;
    timed(kElementwise, kTangentPass, 0, [&] {
      times_elu_slope(buffer.hdot, buffer.a, buffer.adot, count);
      if (block.down) pool(block, buffer.hdot, buffer.sdot);
    });
    timed(block, BlockPart::conv_1, kTangentPass, n_,
          [&] { primitive.conv_1_tangent->run(buffer.adot, weight.conv_1, nullptr, buffer.bdot); });
    timed(kElementwise, kTangentPass, 0, [&] { times_elu_slope(buffer.bdot, buffer.b, buffer.bdot, count); });
    timed(block, BlockPart::conv_2, kTangentPass, n_,
          [&] { primitive.conv_2_tangent->run(buffer.bdot, weight.conv_2, nullptr, next); });
    timed(block, BlockPart::shortcut, kTangentPass, n_,
          [&] { primitive.shortcut.run(buffer.sdot, weight.shortcut, nullptr, next); });
  }
}

void Plan::second_backward(NetworkWeights& weights, Buffers& buffers, const float* noisy,
                           std::span<float> gradient) {
  const auto part = [&](const ParameterInfo& info) { return gradient.subspan(info.offset, info.count); };
  // The head does its tangent, its second backward pass and its two weight gradients in one go.
  timed("head", kSecondBackwardPass, head_flop(spec_, 4 * n_), [&] {
    weights.head.second_order(buffers.last_h, buffers.last_hdot, n_, buffers.last_gamma, gradient);
  });
  const float* gamma_out = buffers.last_gamma;  // and, behind it, delta_out: a doubled batch
  float* const scratch = weights_scratch_.data();
  for (size_t i = blocks_.size(); i-- > 0;) {
    BlockPrimitives& primitive = blocks_[i];
    BlockWeights& weight = weights.blocks[i];
    const BlockBuffers& buffer = buffers.block[i];
    const Block& block = primitive.block;
    const int64_t count = layout_.count(n_, block.in, block.size);

    timed(block, BlockPart::conv_2, kWeightGradients, 2 * n_, [&] {
      primitive.conv_2_weights->run(buffer.b, gamma_out, weight.conv_2, part(weight.conv_2_info), scratch);
    });
    timed(block, BlockPart::shortcut, kWeightGradients, 2 * n_, [&] {
      primitive.shortcut_weights->run(buffer.s, gamma_out, weight.shortcut, part(weight.shortcut_info),
                                      scratch);
    });
    timed(kElementwise, kWeightGradients, 0, [&] {
      add_bias_gradient(gamma_out, block.out, block.out_size(), part(weight.conv_2_bias_info));
      add_bias_gradient(gamma_out, block.out, block.out_size(), part(weight.shortcut_bias_info));
    });

    timed(block, BlockPart::conv_2, kSecondBackwardPass, n_,
          [&] { primitive.conv_2_back->run(gamma_out, weight.conv_2, buffers.temporary); });
    timed(kElementwise, kSecondBackwardPass, 0, [&] {
      second_order_slope(buffers.temporary, buffer.b, buffer.delta_b, buffer.bdot, buffer.gamma_u, count);
    });
    timed(block, BlockPart::conv_1, kWeightGradients, 2 * n_, [&] {
      primitive.conv_1_weights->run(buffer.a, buffer.gamma_u, weight.conv_1, part(weight.conv_1_info),
                                    scratch);
    });

    timed(block, BlockPart::conv_1, kSecondBackwardPass, n_,
          [&] { primitive.conv_1_back->run(buffer.gamma_u, weight.conv_1, buffers.temporary); });
    timed(block, BlockPart::shortcut, kSecondBackwardPass, n_,
          [&] { primitive.shortcut_back->run(gamma_out, weight.shortcut, buffers.shortcut); });
    timed(kElementwise, kSecondBackwardPass, 0, [&] {
      second_order_slope(buffers.temporary, buffer.a, buffer.delta_a, buffer.adot, buffer.gamma_h, count);
      add_shortcut(block, buffers.shortcut, buffer.gamma_h);
    });
    gamma_out = buffer.gamma_h;
  }
  timed(kElementwise, kWeightGradients, 0,
        [&] { add_bias_gradient(gamma_out, spec_.width, spec_.size, part(weights.input_bias_info)); });
  timed("conv1", kWeightGradients, input_flop(spec_, 2 * n_),
        [&] { input_gradient(weights, buffers, noisy, part(weights.input_info)); });
}

void Plan::input_gradient(NetworkWeights& weights, Buffers& buffers, const float* noisy,
                          std::span<float> gradient) const {
  const int64_t image = spec_.input(1).count(), map = layout_.count(1, spec_.width, spec_.size);
  FloatBuffer sum(weights.input_weights.size());
  std::fill_n(sum.data(), sum.size(), 0.0f);
  // Split by output block, so that each thread adds up its own part in image order whatever the number of
  // threads.
  parallel_for(weights.input.out / layout_.block, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = 0; i < n_; ++i) {
      kernels().input_weights(weights.input, noisy + i * image, buffers.block[0].gamma_h + i * map,
                              sum.data(), first, last);
      kernels().input_weights(weights.input, buffers.v + i * image, buffers.block[0].delta_h + i * map,
                              sum.data(), first, last);
    }
  });
  add_input_gradient(weights, sum.data(), gradient);
}

void Plan::add_bias_gradient(const float* gamma, int64_t channels, int64_t size,
                             std::span<float> bias) const {
  const int64_t block = layout_.block, blocks = layout_.padded(channels) / block, pixels = size * size;
  parallel_for(blocks, 1, [&](int64_t first, int64_t last) {
    float one[16];
    for (int64_t b = first; b < last; ++b) {
      double total[16] = {};
      for (int64_t i = 0; i < n_; ++i) {
        kernels().plane_sum(gamma + (i * blocks + b) * pixels * block, one, pixels, block);
        for (int64_t l = 0; l < block; ++l) total[l] += one[l];
      }
      for (int64_t l = 0; l < block && b * block + l < channels; ++l)
        bias[static_cast<size_t>(b * block + l)] += static_cast<float>(total[l]);
    }
  });
}

}  // namespace mdsm::native
