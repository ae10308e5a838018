#include "engine/native/upsampling.h"

#include <memory>
#include <utility>

namespace mdsm::engine::native {
namespace {

using network::Graph;
using network::Layer;
using network::LayerKind;
using network::ValueSize;

// A value of the given graph in terms of the new one's: a value itself, one with every pixel as 2x2, or a
// concatenation of two that has not been made.
struct Expression {
  int value = -1;
  bool upsampled = false;
  std::shared_ptr<Expression> first{}, second{};

  bool plain() const { return !upsampled && !first; }
};

class Rewriter {
 public:
  explicit Rewriter(const Graph& given) : given_(given) {
    out_.graph.channels = given.channels;
    out_.graph.head = given.head;
    out_.graph.sizes.push_back(given.size(0));
    values_.push_back(std::make_shared<Expression>(Expression{.value = 0}));
  }

  RewrittenGraph run() {
    for (const Layer& layer : given_.layers) values_.push_back(rewrite(layer));
    make(values_.back());  // the head reads it
    return std::move(out_);
  }

 private:
  using Pointer = std::shared_ptr<Expression>;

  static Pointer value(int number, bool upsampled = false) {
    return std::make_shared<Expression>(Expression{.value = number, .upsampled = upsampled});
  }
  const Pointer& of(int given_value) const { return values_[static_cast<size_t>(given_value)]; }
  const ValueSize& size(int made) const { return out_.graph.size(made); }

  int push(Layer layer, ValueSize made, ConvolutionPart part = {}) {
    out_.graph.layers.push_back(std::move(layer));
    out_.graph.sizes.push_back(made);
    out_.parts.push_back(part);
    return out_.graph.last();
  }

  // The value itself; an expression is made once, however many read it.
  int make(const Pointer& one) {
    if (one->plain()) return one->value;
    if (one->first) {
      const int a = make(one->first), b = make(one->second);
      *one = {.value = push({.kind = LayerKind::concatenate, .inputs = {a, b}},
                            {size(a).channels + size(b).channels, size(a).halvings})};
    } else {
      const ValueSize small = size(one->value);
      *one = {.value = push({.kind = LayerKind::upsample, .inputs = {one->value}},
                            {small.channels, small.halvings - 1})};
    }
    return one->value;
  }

  Pointer rewrite(const Layer& layer) {
    const Pointer& from = of(layer.inputs[0]);
    switch (layer.kind) {
      case LayerKind::upsample:
        return value(make(from), true);
      case LayerKind::concatenate: {
        const Pointer& other = of(layer.inputs[1]);
        const Pointer both = std::make_shared<Expression>(Expression{.first = from, .second = other});
        if (from->plain() && other->plain()) make(both);
        return both;
      }
      case LayerKind::elu:
      case LayerKind::silu:
        return activation(layer.kind, from);
      case LayerKind::convolution:
        return convolution(layer, from, 0, layer.bias);
      case LayerKind::pool: {
        const int made = make(from);
        return value(
            push({.kind = layer.kind, .inputs = {made}}, {size(made).channels, size(made).halvings + 1}));
      }
      case LayerKind::add: {
        const int a = make(from), b = make(of(layer.inputs[1]));
        return value(push({.kind = layer.kind, .inputs = {a, b}}, size(a)));
      }
    }
    return {};
  }

  Pointer activation(LayerKind kind, const Pointer& from) {
    if (from->first)
      return std::make_shared<Expression>(
          Expression{.first = activation(kind, from->first), .second = activation(kind, from->second)});
    return value(push({.kind = kind, .inputs = {from->value}}, size(from->value)), from->upsampled);
  }

  int64_t channels(const Pointer& one) const {
    return one->first ? channels(one->first) + channels(one->second) : size(one->value).channels;
  }

  // first: of the input channels that the weights are for.
  Pointer convolution(const Layer& layer, const Pointer& from, int64_t first, bool bias) {
    if (from->first) {
      const Pointer a = convolution(layer, from->first, first, false),
                    b = convolution(layer, from->second, first + channels(from->first), bias);
      const int made_a = make(a), made_b = make(b);
      return value(push({.kind = LayerKind::add, .inputs = {made_b, made_a}}, size(made_b)));
    }
    Layer part = layer;
    part.inputs = {from->value};
    part.bias = bias;
    const bool inside = from->upsampled && layer.kernel == 3;  // else the result is what is enlarged
    const ValueSize result{given_.size(static_cast<int>(&layer - given_.layers.data()) + 1).channels,
                           size(from->value).halvings - (inside ? 1 : 0)};
    return value(push(part, result, {first, inside}), from->upsampled && !inside);
  }

  const Graph& given_;
  RewrittenGraph out_;
  std::vector<Pointer> values_;  // of the given graph
};

}  // namespace

RewrittenGraph move_upsampling(const Graph& graph) { return Rewriter(graph).run(); }

}  // namespace mdsm::engine::native
