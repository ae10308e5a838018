#include "engine/native/weights.h"

#include <algorithm>

#include "core/threads.h"

namespace mdsm::engine::native {
namespace {

FloatBuffer zeros(int64_t count) {
  FloatBuffer buffer(static_cast<size_t>(count));
  std::fill_n(buffer.data(), buffer.size(), 0.0f);
  return buffer;
}

// Calls body(place in the parameters, place in the convolution's own weights).
template <class Body>
void for_weights(const WeightPart& part, const Body& body) {
  parallel_for(part.out, 1, [&](int64_t first, int64_t last) {
    for (int64_t o = first; o < last; ++o)
      for (int64_t i = 0; i < part.in; ++i)
        for (int64_t t = 0; t < part.taps; ++t)
          body((o * part.all_in + part.which.first + i) * part.taps + t,
               part.which.upsampled ? (i * part.out + o) * part.taps + part.taps - 1 - t
                                    : (o * part.in + i) * part.taps + t);
  });
}

}  // namespace

void WeightPart::take(const float* parameters, float* own) const {
  const float scale = which.upsampled ? 4.0f : 1.0f;
  for_weights(*this, [&](int64_t there, int64_t here) { own[here] = scale * parameters[there]; });
}

void WeightPart::add_gradient(const float* own, float* gradient) const {
  const float scale = which.upsampled ? 4.0f : 1.0f;
  for_weights(*this, [&](int64_t there, int64_t here) { gradient[there] += scale * own[here]; });
}

NetworkWeights::NetworkWeights(const Fusion& fusion, const Shape& image, Layout layout_)
    : layout(layout_), channels(fusion.graph.channels) {
  const std::vector<network::ParameterInfo> names = network::parameter_layout(fusion.given, image);
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
      const int64_t in = fusion.graph.size(step.from[0]).channels;
      one.part = {step.part, out, in, layer.kernel * layer.kernel, one.info.shape[1]};
      const bool upsampled = step.part.upsampled;
      one.packed.emplace(upsampled ? in : out, upsampled ? out : in, layer.kernel, step.pooled || upsampled,
                         layout);
      if (!one.part.whole()) {
        one.own = zeros(one.part.count());
        one.own_gradient = zeros(one.part.count());
      }
    } else {
      input_step = static_cast<int>(steps.size()) - 1;
      width = out;
      input_weights = zeros(layout.padded(out) * channels * 9);
    }
  }
  if (!network::is_image_head(fusion.graph.head))
    head = std::make_unique<HeadLayer>(fusion.given, image, layout);
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
    if (step.packed && !step.part.whole()) step.part.take(of(step.info).data(), step.own.data());
    if (step.packed) step.packed->set(step.part.whole() ? of(step.info).data() : step.own.data());
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
