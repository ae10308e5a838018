// What the rewriting leaves of a network. That it computes the same is for made_up_network_test.cpp.
#include "engine/native/upsampling.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "small_network.h"

namespace mdsm::engine::native {
namespace {

using network::Graph;
using network::GraphBuilder;
using network::Head;
using network::Layer;
using network::LayerKind;

int64_t count(const Graph& graph, LayerKind kind) {
  return std::ranges::count(graph.layers, kind, &Layer::kind);
}

TEST(MovedUpsampling, LeavesNoConvolutionOfRepeatedPixels) {
  const RewrittenGraph made =
      move_upsampling(network::make_graph(test::small_spec(network::Network::unet, Head::squared_residual)));
  EXPECT_EQ(count(made.graph, LayerKind::concatenate), 1);  // at the lowest level, where nothing is enlarged
  ASSERT_EQ(made.parts.size(), made.graph.layers.size());
  EXPECT_EQ(std::ranges::count(made.parts, true, &ConvolutionPart::upsampled), 2);  // one a way up, 3 levels
  for (const Layer& layer : made.graph.layers) {
    if (layer.kind != LayerKind::convolution) continue;
    const int from = layer.inputs[0];
    EXPECT_FALSE(from > 0 && made.graph.maker(from).kind == LayerKind::upsample) << layer.name;
  }
}

TEST(MovedUpsampling, PartsOfTheWeightsFollowEachOther) {
  GraphBuilder build(1);
  const int first = build.convolution(build.image(), "in", 4, 3, true);
  const int small = build.convolution(build.pool(first), "small", 6, 3, true);
  const int both = build.concatenate(build.upsample(small), first);
  build.convolution(build.silu(both), "out", 1, 3, true);
  const RewrittenGraph made = move_upsampling(build.finish(Head::inner_product));
  std::vector<std::pair<int64_t, bool>> parts;
  int biases = 0;
  for (size_t i = 0; i < made.graph.layers.size(); ++i) {
    if (made.graph.layers[i].name != "out") continue;
    parts.emplace_back(made.parts[i].first, made.parts[i].upsampled);
    biases += made.graph.layers[i].bias ? 1 : 0;
  }
  EXPECT_EQ(parts, (std::vector<std::pair<int64_t, bool>>{{0, true}, {6, false}}));
  EXPECT_EQ(biases, 1);
  EXPECT_EQ(made.graph.size(made.graph.last()), (network::ValueSize{1, 0}));
}

TEST(MovedUpsampling, LeavesOtherNetworksAsTheyAre) {
  const Graph given = network::make_graph(test::small_spec(network::Network::res12));
  const Graph made = move_upsampling(given).graph;
  EXPECT_EQ(made.sizes, given.sizes);
  ASSERT_EQ(made.layers.size(), given.layers.size());
  for (size_t i = 0; i < given.layers.size(); ++i) {
    EXPECT_EQ(made.layers[i].kind, given.layers[i].kind);
    EXPECT_EQ(made.layers[i].inputs, given.layers[i].inputs);
    EXPECT_EQ(made.layers[i].name, given.layers[i].name);
    EXPECT_EQ(made.layers[i].bias, given.layers[i].bias);
  }
}

}  // namespace
}  // namespace mdsm::engine::native
