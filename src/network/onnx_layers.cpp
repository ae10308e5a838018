#include "network/onnx_layers.h"

#include <fmt/format.h>

namespace mdsm::network {
namespace {

using Attribute = OnnxGraph::Attribute;

std::vector<Attribute> window(int64_t size, int64_t stride, int64_t pad) {
  return {{"kernel_shape", {size, size}, "", true},
          {"strides", {stride, stride}, "", true},
          {"pads", {pad, pad, pad, pad}, "", true}};
}

}  // namespace

OnnxLayers::OnnxLayers(const Parameters& parameters, OnnxGraph& net)
    : parameters_(parameters), graph_(make_graph(parameters.spec())), net_(net) {}

OnnxLayers::Name OnnxLayers::parameter(const std::string& name) {
  return net_.weights(name, parameters_.info(name).shape, parameters_.at(name));
}

OnnxLayers::Name OnnxLayers::scaled(const Name& value, double factor, const Name& result) {
  return net_.node("Mul", {value, net_.scalar(factor)}, result);
}

OnnxLayers::Name OnnxLayers::pooled(const Name& value, const Name& result) {
  return net_.node("AveragePool", {value}, result, window(2, 2, 0));
}

OnnxLayers::Name OnnxLayers::enlarged(const Name& value, const Name& result) {
  return net_.node("Resize", {value, "", net_.scales({1, 1, 2, 2})}, result,
                   {{"mode", {}, "nearest"},
                    {"coordinate_transformation_mode", {}, "asymmetric"},
                    {"nearest_mode", {}, "floor"}});
}

OnnxLayers::Name OnnxLayers::convolved(const Layer& layer, const Name& result) {
  std::vector<Name> inputs = {input(layer), parameter(layer.name + ".weight")};
  if (layer.bias) inputs.push_back(parameter(layer.name + ".bias"));
  return net_.node("Conv", inputs, result, window(layer.kernel, 1, layer.kernel / 2));
}

const OnnxLayers::Name& OnnxLayers::input(const Layer& layer, size_t which) const {
  return values_[static_cast<size_t>(layer.inputs[which])];
}

OnnxLayers::Name OnnxLayers::forward(const Layer& layer, const Name& result) {
  switch (layer.kind) {
    case LayerKind::convolution:
      return convolved(layer, result);
    case LayerKind::elu:
      return net_.node("Elu", {input(layer)}, result);
    case LayerKind::silu:
      return net_.node("Mul", {input(layer), net_.node("Sigmoid", {input(layer)}, result + ".sigmoid")},
                       result);
    case LayerKind::pool:
      return pooled(input(layer), result);
    case LayerKind::upsample:
      return enlarged(input(layer), result);
    case LayerKind::add:
      return net_.node("Add", {input(layer), input(layer, 1)}, result);
    case LayerKind::concatenate:
      return net_.node("Concat", {input(layer), input(layer, 1)}, result, {{"axis", {1}}});
  }
  return {};
}

OnnxLayers::Name OnnxLayers::walk(const Name& from) {
  values_ = {from};
  for (size_t i = 0; i < graph_.layers.size(); ++i)
    values_.push_back(forward(graph_.layers[i], fmt::format("{}{}", to_string(graph_.layers[i].kind), i)));
  return values_.back();
}

OnnxLayers::Name OnnxLayers::elu_slope(const Name& x, const Name& result) {
  return net_.node("Exp", {net_.node("Min", {x, net_.scalar(0)}, result + ".below")}, result);
}

// s + y (1 - s), where y = x s
OnnxLayers::Name OnnxLayers::silu_slope(const Name& y, const Name& result) {
  const Name s = y + ".sigmoid";
  const Name rest = net_.node("Sub", {net_.scalar(1), s}, result + ".rest");
  return net_.node("Add", {s, net_.node("Mul", {y, rest}, result + ".bent")}, result);
}

void OnnxLayers::give(int value, const Name& delta) { deltas_[static_cast<size_t>(value)].push_back(delta); }

void OnnxLayers::backward(size_t i, const Name& delta) {
  const Layer& layer = graph_.layers[i];
  const Name result = "back." + values_[i + 1];
  const int from = layer.inputs[0];
  switch (layer.kind) {
    // The transpose takes the weights as they are: its own layout is (channels in, channels out, k, k).
    case LayerKind::convolution:
      return give(from, net_.node("ConvTranspose", {delta, layer.name + ".weight"}, result,
                                  window(layer.kernel, 1, layer.kernel / 2)));
    case LayerKind::elu:
      return give(from, net_.node("Mul", {delta, elu_slope(input(layer), result + ".slope")}, result));
    case LayerKind::silu:
      return give(from, net_.node("Mul", {delta, silu_slope(values_[i + 1], result + ".slope")}, result));
    case LayerKind::pool:
      return give(from, scaled(enlarged(delta, result + ".large"), 0.25, result));
    case LayerKind::upsample:
      return give(from, scaled(pooled(delta, result + ".mean"), 4, result));
    case LayerKind::add:
      for (const int each : layer.inputs) give(each, delta);
      return;
    case LayerKind::concatenate:
      net_.node("Split",
                {delta, net_.integers({graph_.size(from).channels, graph_.size(layer.inputs[1]).channels})},
                result, {{"axis", {1}}}, 2);
      give(from, result);
      return give(layer.inputs[1], result + ".1");
  }
}

OnnxLayers::Name OnnxLayers::sum_of_deltas(size_t value) {
  const std::vector<Name>& parts = deltas_[value];
  return parts.size() == 1 ? parts[0] : net_.node("Sum", parts, fmt::format("back.sum{}", value));
}

OnnxLayers::Name OnnxLayers::walk_back(const Name& delta) {
  deltas_.assign(values_.size(), {});
  give(graph_.last(), delta);
  for (size_t i = graph_.layers.size(); i-- > 0;) backward(i, sum_of_deltas(i + 1));
  return sum_of_deltas(0);
}

}  // namespace mdsm::network
