#include "engine/native/weights.h"

#include <algorithm>

namespace mdsm::engine::native {
namespace {

FloatBuffer zeros(int64_t count) {
  FloatBuffer buffer(static_cast<size_t>(count));
  std::fill_n(buffer.data(), buffer.size(), 0.0f);
  return buffer;
}

}  // namespace

NetworkWeights::NetworkWeights(const Fusion& fusion, const Shape& image, Layout layout_)
    : layout(layout_), channels(fusion.graph.channels) {
  const std::vector<network::ParameterInfo> names = network::parameter_layout(fusion.graph, image);
  const auto named = [&](const std::string& name) {
    return *std::ranges::find(names, name, &network::ParameterInfo::name);
  };
  for (const Step& step : fusion.steps) {
    StepWeights& one = steps.emplace_back();
    if (step.kind != Step::Kind::convolution && step.kind != Step::Kind::input_convolution) continue;
    const network::Layer& layer = fusion.graph.layers[static_cast<size_t>(step.layer)];
    one.info = named(layer.name + ".weight");
    const int64_t out = one.info.shape[0];
    for (const int from : step.biases)
      one.bias_infos.push_back(named(fusion.graph.layers[static_cast<size_t>(from)].name + ".bias"));
    one.bias = zeros(layout.padded(out));
    if (step.kind == Step::Kind::convolution) {
      one.packed.emplace(out, one.info.shape[1], layer.kernel, step.pooled, layout);
    } else {
      input_step = static_cast<int>(steps.size()) - 1;
      width = out;
      input_weights = zeros(layout.padded(out) * channels * 9);
    }
  }
  if (!network::is_image_head(fusion.graph.head))
    head = std::make_unique<HeadLayer>(fusion.graph, image, layout);
}

void NetworkWeights::set(std::span<const float> parameters) {
  const auto of = [&](const network::ParameterInfo& info) {
    return parameters.subspan(info.offset, info.count);
  };
  const auto plain = of(steps[static_cast<size_t>(input_step)].info);
  const int64_t taps = channels * 9;
  for (int64_t o = 0; o < width; ++o)
    for (int64_t t = 0; t < taps; ++t)
      input_weights.data()[(o / layout.block * taps + t) * layout.block + o % layout.block] =
          plain[o * taps + t];
  for (StepWeights& step : steps) {
    if (step.packed) step.packed->set(of(step.info).data());
    if (step.bias_infos.empty()) continue;
    std::ranges::copy(of(step.bias_infos[0]), step.bias.data());
    for (size_t k = 1; k < step.bias_infos.size(); ++k)
      std::ranges::transform(of(step.bias_infos[k]), step.bias.span(), step.bias.data(),
                             [](float a, float b) { return b + a; });
  }
  if (head) head->set(parameters);
}

void add_input_gradient(const NetworkWeights& weights, const float* gradient, std::span<float> plain) {
  const int64_t block = weights.layout.block, taps = weights.channels * 9;
  for (int64_t o = 0; o < weights.width; ++o)
    for (int64_t t = 0; t < taps; ++t)
      plain[o * taps + t] += gradient[(o / block * taps + t) * block + o % block];
}

}  // namespace mdsm::engine::native
