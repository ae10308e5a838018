// The parameter gradient of the energies themselves, sum_n weight_n dE(x_n)/dtheta: what maximum likelihood
// needs. One backward pass with the weight gradients of each layer on its way, a single term each.
#include "engine/native/plan.h"
#include "engine/native/profile.h"

namespace mdsm::engine::native {

void Plan::energy_gradient(NetworkWeights& weights, float* arena, const float* x,
                           std::span<const float> weight, std::span<float> energy,
                           std::span<float> gradient) {
  Buffers buffers = buffers_in(arena);
  forward(weights, buffers, x, energy);
  first_order_backward(weights, buffers, weight, gradient);
}

void Plan::first_order_backward(NetworkWeights& weights, Buffers& buffers, std::span<const float> weight,
                                std::span<float> gradient) {
  const auto part = [&](const network::ParameterInfo& info) {
    return gradient.subspan(info.offset, info.count);
  };
  {
    const ProfileScope scope("head", kBackwardPass, 0);
    weights.head.first_order(buffers.last_h, weight, buffers.last_delta, gradient);
  }
  const float* delta_out = buffers.last_delta;
  float* const scratch = buffers.scratch;
  for (size_t i = layers_.size(); i-- > 0;) {
    auto& [block, conv_1, conv_2, shortcut] = layers_[i];
    BlockWeights& own = weights.blocks[i];
    const BlockBuffers& buffer = buffers.block[i];

    conv_2.gradient(buffer.b, delta_out, own.conv_2, part(own.conv_2_info), scratch);
    shortcut.gradient(buffer.s, delta_out, own.shortcut, part(own.shortcut_info), scratch);
    add_bias_gradient(delta_out, block.out, block.out_size(), scratch,
                      {part(own.conv_2_bias_info), part(own.shortcut_bias_info)});

    conv_2.backward(kBackwardPass, delta_out, own.conv_2, {.op = Epilogue::Op::slope, .y = buffer.b},
                    buffer.delta_u, scratch);
    conv_1.gradient(buffer.a, buffer.delta_u, own.conv_1, part(own.conv_1_info), scratch);

    shortcut.backward(kBackwardPass, delta_out, own.shortcut, {}, buffers.shortcut, scratch);
    conv_1.backward(
        kBackwardPass, buffer.delta_u, own.conv_1,
        {.op = Epilogue::Op::slope, .y = buffer.a, .add = buffers.shortcut, .add_unpooled = block.down},
        buffer.delta_h, scratch);
    delta_out = buffer.delta_h;
  }
  add_bias_gradient(delta_out, spec_.width, spec_.size, scratch, {part(weights.input_bias_info)});
  input_gradient(weights, {{buffers.x, delta_out}}, part(weights.input_info));
}

}  // namespace mdsm::engine::native
