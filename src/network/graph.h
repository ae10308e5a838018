// The network as a list of layers: what engines, the parameter layout, costs, import and pictures read. Every
// layer is linear (convolution, pool, upsample, add, concatenate) or pointwise (ELU, SiLU), which is all that
// the six passes of training need (docs/design/second_order.md); a head turns the last map into a number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "network/spec.h"

namespace mdsm::network {

enum class LayerKind {
  convolution,  // 1x1 or 3x3, zeros beyond the edge
  elu,
  silu,
  pool,        // mean of 2x2 pixels
  upsample,    // every pixel becomes 2x2
  add,         // of two maps
  concatenate  // channels of the first, then of the second
};
constexpr auto enum_names(LayerKind) {
  return names_of<LayerKind>({{LayerKind::convolution, "convolution"},
                              {LayerKind::elu, "elu"},
                              {LayerKind::silu, "silu"},
                              {LayerKind::pool, "pool"},
                              {LayerKind::upsample, "upsample"},
                              {LayerKind::add, "add"},
                              {LayerKind::concatenate, "concatenate"}});
}

struct Layer;
// A convolution's name for people: without the last ".conv", ".conv.conv" of the authors' names.
std::string short_name(const Layer& layer);

// Values are numbered: 0 is the image, i + 1 the result of layer i.
struct Layer {
  LayerKind kind = LayerKind::convolution;
  std::vector<int> inputs;          // values made before
  std::string name{};               // of a convolution, as its parameters start: "rb1.conv_1.conv"
  int64_t kernel = 0;               // of a convolution
  bool bias = false, zero = false;  // has a bias; starts at zero
};

// Size of a value: channels, and how often rows and columns of the image have been halved.
struct ValueSize {
  int64_t channels = 0, halvings = 0;
  bool operator==(const ValueSize&) const = default;
};

struct Graph {
  int64_t channels = 1;  // of the image
  Head head = Head::quadratic;
  std::vector<Layer> layers;
  std::vector<ValueSize> sizes;  // of every value

  int values() const { return static_cast<int>(sizes.size()); }
  int last() const { return values() - 1; }                                               // the head's input
  const Layer& maker(int value) const { return layers[static_cast<size_t>(value - 1)]; }  // not of the image
  const ValueSize& size(int value) const { return sizes[static_cast<size_t>(value)]; }
  Shape shape(int value, const Shape& image) const;
  std::vector<std::vector<int>> consumers() const;  // layers that read each value
  int64_t halvings() const;                         // the most of any value
};

// Puts graphs together; every call gives the number of a value.
class GraphBuilder {
 public:
  explicit GraphBuilder(int64_t image_channels);
  int image() const { return 0; }
  int convolution(int from, const std::string& name, int64_t out, int64_t kernel, bool bias,
                  bool zero = false);
  int elu(int from) { return pointwise(LayerKind::elu, from); }
  int silu(int from) { return pointwise(LayerKind::silu, from); }
  int pointwise(LayerKind kind, int from);
  int pool(int from);
  int upsample(int from);
  int add(int a, int b);
  int concatenate(int a, int b);
  int64_t channels(int value) const { return graph_.size(value).channels; }
  Graph finish(Head head);

 private:
  int push(Layer layer, ValueSize size);
  Graph graph_;
};

// How many pixels away from a pixel of the last map the image still has a part in it, at the worst place: of
// an image head, an energy's term at a pixel sees the image that far around it.
int64_t receptive_radius(const Graph& graph);

Graph make_graph(const Spec& spec);
// Of any graph; size: of the images, which the features of a quadratic or linear head depend on.
std::vector<ParameterInfo> parameter_layout(const Graph& graph, const Shape& image);

// A pool that follows a convolution and nothing else reads can be folded into it, which is then one with
// stride 2: 4x4 for 3x3.
bool folds_pool(const Graph& graph, const std::vector<std::vector<int>>& consumers, int value);

}  // namespace mdsm::network
