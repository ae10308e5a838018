#include "network/widen.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "network/graph.h"

namespace mdsm::network {
namespace {

using Channels = std::vector<int64_t>;  // of each new channel of a value, the old one that it copies

Channels copies(int64_t old_count, int64_t new_count) {
  Channels channels(static_cast<size_t>(new_count));
  for (int64_t c = 0; c < new_count; ++c) channels[static_cast<size_t>(c)] = c % old_count;
  return channels;
}

Channels channels_of(const Graph& old_graph, const Graph& graph, int value,
                     const std::vector<Channels>& made) {
  const Layer& layer = graph.maker(value);
  if (layer.kind == LayerKind::convolution)
    return copies(old_graph.size(value).channels, graph.size(value).channels);
  Channels channels = made[static_cast<size_t>(layer.inputs[0])];
  if (layer.kind == LayerKind::concatenate) {
    const int64_t first = old_graph.size(layer.inputs[0]).channels;
    for (const int64_t c : made[static_cast<size_t>(layer.inputs[1])]) channels.push_back(first + c);
  }
  if (layer.kind == LayerKind::add && channels != made[static_cast<size_t>(layer.inputs[1])])
    fail("this is a bug in the caller", "maps that are added have other channels");
  return channels;
}

// For one output channel: the part of the old weight that each copy of an input channel gets. The parts of
// one old channel add up to 1.
std::vector<float> parts(const Channels& in, int64_t old_count, RandomStream& random) {
  std::vector<float> share(in.size());
  random.fill_uniform(share, 0.5f, 1.5f);
  std::vector<double> sums(static_cast<size_t>(old_count));
  for (size_t i = 0; i < in.size(); ++i) sums[static_cast<size_t>(in[i])] += static_cast<double>(share[i]);
  for (size_t i = 0; i < in.size(); ++i)
    share[i] = static_cast<float>(static_cast<double>(share[i]) / sums[static_cast<size_t>(in[i])]);
  return share;
}

void widen_convolution(const Layer& layer, const Channels& in, const Channels& out, int64_t old_in,
                       const Parameters& from, Parameters& to, RandomStream random) {
  const int64_t taps = layer.kernel * layer.kernel, new_in = static_cast<int64_t>(in.size());
  const auto old_weight = from.at(layer.name + ".weight");
  const auto weight = to.at(layer.name + ".weight");
  for (size_t o = 0; o < out.size(); ++o) {
    const std::vector<float> share = parts(in, old_in, random);
    for (size_t i = 0; i < in.size(); ++i) {
      const float* source = old_weight.data() + (out[o] * old_in + in[i]) * taps;
      float* target = weight.data() + (static_cast<int64_t>(o) * new_in + static_cast<int64_t>(i)) * taps;
      for (int64_t t = 0; t < taps; ++t) target[t] = share[i] * source[t];
    }
    if (layer.bias)
      to.at(layer.name + ".bias")[o] = from.at(layer.name + ".bias")[static_cast<size_t>(out[o])];
  }
}

}  // namespace

Parameters widened(const Parameters& from, const Spec& spec, uint64_t seed) {
  Spec narrow = spec;
  narrow.width = from.spec().width;
  if (!is_image_head(spec.head) || spec.width < narrow.width || !(parameter_layout(narrow) == from.layout()))
    fail("this is a bug in the caller", "only the width of a network from images to images can grow");
  const Graph old_graph = make_graph(from.spec()), graph = make_graph(spec);
  Parameters to(spec);
  std::vector<Channels> made{copies(spec.channels, spec.channels)};
  for (int value = 1; value < graph.values(); ++value) {
    made.push_back(channels_of(old_graph, graph, value, made));
    const Layer& layer = graph.maker(value);
    if (layer.kind != LayerKind::convolution) continue;
    const int input = layer.inputs[0];
    widen_convolution(layer, made[static_cast<size_t>(input)], made.back(), old_graph.size(input).channels,
                      from, to, RandomStream(seed, Purpose::initialisation, static_cast<uint64_t>(value)));
  }
  return to;
}

}  // namespace mdsm::network
