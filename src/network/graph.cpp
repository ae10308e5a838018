#include "network/graph.h"

#include <algorithm>

#include "core/error.h"

namespace mdsm::network {

std::string short_name(const Layer& layer) {
  std::string name = layer.name;
  while (name.ends_with(".conv")) name.resize(name.size() - 5);
  return name;
}

Shape Graph::shape(int value, const Shape& image) const {
  const ValueSize& of = size(value);
  return {image.n, of.channels, image.h >> of.halvings, image.w >> of.halvings};
}

std::vector<std::vector<int>> Graph::consumers() const {
  std::vector<std::vector<int>> found(sizes.size());
  for (size_t i = 0; i < layers.size(); ++i)
    for (const int input : layers[i].inputs) found[static_cast<size_t>(input)].push_back(static_cast<int>(i));
  return found;
}

int64_t Graph::halvings() const {
  return std::ranges::max_element(sizes, {}, &ValueSize::halvings)->halvings;
}

GraphBuilder::GraphBuilder(int64_t image_channels) {
  graph_.channels = image_channels;
  graph_.sizes.push_back({image_channels, 0});
}

int GraphBuilder::push(Layer layer, ValueSize size) {
  graph_.layers.push_back(std::move(layer));
  graph_.sizes.push_back(size);
  return graph_.last();
}

int GraphBuilder::convolution(int from, const std::string& name, int64_t out, int64_t kernel, bool bias,
                              bool zero) {
  return push({LayerKind::convolution, {from}, name, kernel, bias, zero}, {out, graph_.size(from).halvings});
}

int GraphBuilder::pointwise(LayerKind kind, int from) { return push({kind, {from}}, graph_.size(from)); }

int GraphBuilder::pool(int from) {
  const auto [channels, halvings] = graph_.size(from);
  return push({LayerKind::pool, {from}}, {channels, halvings + 1});
}

int GraphBuilder::upsample(int from) {
  const auto [channels, halvings] = graph_.size(from);
  return push({LayerKind::upsample, {from}}, {channels, halvings - 1});
}

int GraphBuilder::add(int a, int b) {
  if (graph_.size(a) != graph_.size(b))
    fail("this is a bug in the network", "maps of {} and {} channels are added", channels(a), channels(b));
  return push({LayerKind::add, {a, b}}, graph_.size(a));
}

int GraphBuilder::concatenate(int a, int b) {
  return push({LayerKind::concatenate, {a, b}}, {channels(a) + channels(b), graph_.size(a).halvings});
}

Graph GraphBuilder::finish(Head head) {
  graph_.head = head;
  return std::move(graph_);
}

// The map at i, halved h times, sees the pixels from i 2^h - r to (i + 1) 2^h - 1 + r. A pixel of an enlarged
// map may lie at the far end of the one it comes from.
int64_t receptive_radius(const Graph& graph) {
  std::vector<int64_t> radius = {0};
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const int64_t pixel = int64_t{1} << graph.sizes[i + 1].halvings;
    int64_t r = 0;
    for (const int input : layer.inputs) r = std::max(r, radius[static_cast<size_t>(input)]);
    if (layer.kind == LayerKind::convolution) r += layer.kernel / 2 * pixel;
    if (layer.kind == LayerKind::upsample) r += pixel;
    radius.push_back(r);
  }
  return radius.back();
}

namespace {

// h -> ELU -> conv_1 (3x3, keeps channels) -> ELU -> conv_2 (3x3) [-> 2x2 mean], plus [2x2 mean ->] 1x1.
int paper_block(GraphBuilder& net, int h, const std::string& name, bool down) {
  // The authors wrap a pooled convolution once more.
  const std::string inner = down ? ".conv.conv" : ".conv";
  const int64_t in = net.channels(h), out = down ? 2 * in : in;
  const int u = net.convolution(net.elu(h), name + ".conv_1.conv", in, 3, false);
  int main = net.convolution(net.elu(u), name + ".conv_2" + inner, out, 3, true);
  if (down) main = net.pool(main);
  const int side = net.convolution(down ? net.pool(h) : h, name + ".conv_shortcut" + inner, out, 1, true);
  return net.add(main, side);
}

Graph paper_network(const Spec& spec) {
  GraphBuilder net(spec.channels);
  int h = net.convolution(net.image(), "conv1.conv", spec.width, 3, true);
  for (const std::string& name : paper_blocks(spec.network))
    h = paper_block(net, h, name, !name.starts_with("rbc"));
  return net.finish(spec.head);
}

class UnetBuilder {
 public:
  explicit UnetBuilder(const Spec& spec)
      : spec_(spec),
        net_(spec.channels),
        activation_(spec.activation == Activation::elu ? LayerKind::elu : LayerKind::silu) {}

  Graph build() {
    std::vector<int> skips;
    int h = net_.convolution(net_.image(), "in", spec_.width, 3, true);
    for (int64_t level = 0; level < spec_.levels; ++level) {
      if (level > 0) h = net_.pool(h);
      h = blocks(h, fmt::format("down{}", level), width(level));
      skips.push_back(h);
    }
    h = blocks(h, "middle", width(spec_.levels - 1), 1);
    for (int64_t level = spec_.levels - 1; level >= 0; --level) {
      if (level + 1 < spec_.levels) h = net_.upsample(h);
      h = net_.concatenate(h, skips[static_cast<size_t>(level)]);
      h = blocks(h, fmt::format("up{}", level), width(level));
    }
    net_.convolution(net_.pointwise(activation_, h), "out", spec_.channels, 3, true, true);
    return net_.finish(spec_.head);
  }

 private:
  int64_t width(int64_t level) const { return spec_.width * (level == 0 ? 1 : level == 1 ? 2 : 4); }

  int blocks(int h, const std::string& name, int64_t out, int64_t count = 0) {
    for (int64_t i = 0; i < (count > 0 ? count : spec_.blocks); ++i)
      h = block(h, fmt::format("{}.{}", name, i), out);
    return h;
  }

  // Activation, 3x3, activation, 3x3 that starts at zero; plus the input, through a 1x1 where channels
  // differ.
  int block(int h, const std::string& name, int64_t out) {
    const int u = net_.convolution(net_.pointwise(activation_, h), name + ".conv1", out, 3, true);
    const int main = net_.convolution(net_.pointwise(activation_, u), name + ".conv2", out, 3, true, true);
    const int side = net_.channels(h) == out ? h : net_.convolution(h, name + ".shortcut", out, 1, false);
    return net_.add(main, side);
  }

  const Spec& spec_;
  GraphBuilder net_;
  LayerKind activation_;
};

class LayoutBuilder {
 public:
  void convolution(const Layer& layer, int64_t out, int64_t in) {
    const int64_t fan_in = in * layer.kernel * layer.kernel;
    add(layer.name + ".weight", {out, in, layer.kernel, layer.kernel}, fan_in, layer.zero);
    if (layer.bias) add(layer.name + ".bias", {out}, fan_in, layer.zero);
  }
  void linear(const std::string& name, int64_t inputs) {
    add(name + ".weight", {1, inputs}, inputs, false);
    add(name + ".bias", {1}, inputs, false);
  }
  std::vector<ParameterInfo> take() { return std::move(layout_); }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, int64_t fan_in, bool zero) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    layout_.push_back({name, std::move(shape), offset_, count, fan_in, zero});
    offset_ += count;
  }

  std::vector<ParameterInfo> layout_;
  int64_t offset_ = 0;
};

}  // namespace

Graph make_graph(const Spec& spec) {
  return spec.network == Network::unet ? UnetBuilder(spec).build() : paper_network(spec);
}

std::vector<ParameterInfo> parameter_layout(const Graph& graph, const Shape& image) {
  LayoutBuilder layout;
  for (size_t i = 0; i < graph.layers.size(); ++i)
    if (const Layer& layer = graph.layers[i]; layer.kind == LayerKind::convolution)
      layout.convolution(layer, graph.sizes[i + 1].channels, graph.size(layer.inputs[0]).channels);
  const int64_t features = graph.shape(graph.last(), image).per_image();
  if (graph.head == Head::quadratic)
    for (const char* name : {"ln1", "ln2", "lq"}) layout.linear(name, features);
  if (graph.head == Head::linear) layout.linear("ln", features);
  return layout.take();
}

bool folds_pool(const Graph& graph, const std::vector<std::vector<int>>& consumers, int value) {
  if (value == 0 || graph.maker(value).kind != LayerKind::convolution || graph.maker(value).kernel != 3)
    return false;
  const std::vector<int>& readers = consumers[static_cast<size_t>(value)];
  return readers.size() == 1 && graph.layers[static_cast<size_t>(readers[0])].kind == LayerKind::pool;
}

}  // namespace mdsm::network
