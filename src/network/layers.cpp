#include "network/layers.h"

#include <fmt/format.h>
#include <algorithm>

#include "network/graph.h"

namespace mdsm::network {
namespace {

// What stands before a convolution, in words: "elu, ", "mean 2x2, ".
std::string before(const Graph& graph, int value) {
  if (value == 0) return "";
  switch (graph.maker(value).kind) {
    case LayerKind::elu:
      return "elu, ";
    case LayerKind::silu:
      return "silu, ";
    case LayerKind::pool:
      return "mean 2x2, ";
    case LayerKind::concatenate:
      return "concatenated, ";
    default:
      return "";
  }
}

}  // namespace

std::vector<LayerInfo> layers(const Spec& spec) {
  validate(spec);
  const Graph graph = make_graph(spec);
  const auto consumers = graph.consumers();
  const Shape image = spec.input(1);
  std::vector<LayerInfo> list;
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    if (layer.kind != LayerKind::convolution) continue;
    const int value = static_cast<int>(i) + 1;
    const bool folded = folds_pool(graph, consumers, value);
    const int64_t in = graph.size(layer.inputs[0]).channels, taps = layer.kernel * layer.kernel;
    Shape output = graph.shape(value, image);
    if (folded) output.h /= 2, output.w /= 2;
    list.push_back({short_name(layer),
                    fmt::format("{}{}x{}{}", before(graph, layer.inputs[0]), layer.kernel, layer.kernel,
                                folded ? ", mean 2x2" : ""),
                    output, in * output.c * taps + (layer.bias ? output.c : 0),
                    // With pooling folded in, 4x4 products for each result.
                    in * output.count() * (folded ? 16 : taps)});
  }
  const int64_t inputs = graph.shape(graph.last(), image).count();
  const Shape scalar{1, 1, 1, 1};
  switch (spec.head) {
    case Head::quadratic:
      for (const char* name : {"ln1", "ln2", "lq"})
        list.push_back({name, name[1] == 'q' ? "linear in squares" : "linear", scalar, inputs + 1, inputs});
      break;
    case Head::linear:
      list.push_back({"ln", "elu, linear", scalar, inputs + 1, inputs});
      break;
    case Head::squared_residual:
    case Head::inner_product:
    case Head::predicted_noise:
    case Head::denoiser:
    case Head::residual_denoiser:
      list.push_back({"head", to_string(spec.head), scalar, 0, inputs});
      break;
  }
  return list;
}

}  // namespace mdsm::network
