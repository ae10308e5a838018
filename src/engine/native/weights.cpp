#include "engine/native/weights.h"

#include <algorithm>

namespace mdsm::engine::native {
namespace {

FloatBuffer zeros(int64_t count) {
  FloatBuffer buffer(static_cast<size_t>(count));
  std::fill_n(buffer.data(), buffer.size(), 0.0f);
  return buffer;
}

BlockWeights make_block(const network::Block& block, const network::Parameters& names, Layout layout) {
  const std::string inner = block.down ? ".conv.conv" : ".conv";
  const std::string conv_2 = block.name + ".conv_2" + inner, shortcut = block.name + ".conv_shortcut" + inner;
  return {ConvolutionWeights(block.in, block.in, 3, false, layout),
          ConvolutionWeights(block.out, block.in, 3, block.down, layout),
          ConvolutionWeights(block.out, block.in, 1, false, layout),
          names.info(block.name + ".conv_1.conv.weight"),
          names.info(conv_2 + ".weight"),
          names.info(shortcut + ".weight"),
          names.info(conv_2 + ".bias"),
          names.info(shortcut + ".bias"),
          zeros(layout.padded(block.out))};
}

}  // namespace

NetworkWeights::NetworkWeights(const network::Spec& spec, Layout layout_)
    : layout(layout_),
      input{spec.channels, layout.padded(spec.width), spec.size, layout.block, nullptr},
      input_weights(zeros(input.out * spec.channels * 9)),
      input_bias(zeros(input.out)),
      head(spec, layout) {
  const network::Parameters names(spec);
  input.weights = input_weights.data();
  input_info = names.info("conv1.conv.weight");
  input_bias_info = names.info("conv1.conv.bias");
  for (const network::Block& block : network::blocks(spec))
    blocks.push_back(make_block(block, names, layout));
}

void NetworkWeights::set(const network::Parameters& parameters) {
  const auto plain = parameters.at(input_info);
  const int64_t taps = input.channels * 9, out = input_info.shape[0];
  for (int64_t o = 0; o < out; ++o)
    for (int64_t t = 0; t < taps; ++t)
      input_weights.data()[(o / layout.block * taps + t) * layout.block + o % layout.block] =
          plain[o * taps + t];
  std::ranges::copy(parameters.at(input_bias_info), input_bias.data());
  for (BlockWeights& block : blocks) {
    block.conv_1.set(parameters.at(block.conv_1_info).data());
    block.conv_2.set(parameters.at(block.conv_2_info).data());
    block.shortcut.set(parameters.at(block.shortcut_info).data());
    std::ranges::transform(parameters.at(block.conv_2_bias_info), parameters.at(block.shortcut_bias_info),
                           block.bias.data(), [](float a, float b) { return a + b; });
  }
  head.set(parameters);
}

void add_input_gradient(const NetworkWeights& weights, const float* gradient, std::span<float> plain) {
  const int64_t block = weights.layout.block, taps = weights.input.channels * 9,
                out = weights.input_info.shape[0];
  for (int64_t o = 0; o < out; ++o)
    for (int64_t t = 0; t < taps; ++t)
      plain[o * taps + t] += gradient[(o / block * taps + t) * block + o % block];
}

}  // namespace mdsm::engine::native
