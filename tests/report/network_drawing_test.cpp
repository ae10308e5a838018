#include "report/network_drawing.h"

#include <gtest/gtest.h>

#include <regex>

#include "engine/made_up_network.h"
#include "report/network_layout.h"

namespace mdsm::report {
namespace {

using network::Network;

network::Spec spec_of(Network net, int64_t levels = 4, int64_t blocks = 1) {
  network::Spec spec;
  spec.network = net;
  if (net == Network::unet) spec.head = network::Head::squared_residual;
  spec.channels = 3;
  spec.levels = levels;
  spec.blocks = blocks;
  return spec;
}

std::vector<std::pair<network::Graph, Shape>> networks() {
  std::vector<std::pair<network::Graph, Shape>> all;
  for (const auto& spec : {spec_of(Network::res6), spec_of(Network::res12), spec_of(Network::res34),
                           spec_of(Network::unet), spec_of(Network::unet, 3, 2)})
    all.emplace_back(network::make_graph(spec), spec.input(1));
  for (uint64_t seed = 0; seed < 20; ++seed)
    all.emplace_back(test::NetworkMaker(seed, 2).make(network::Head::squared_residual), Shape{1, 2, 16, 16});
  return all;
}

struct Rectangle {
  double left, top, right, bottom;
  bool meets(const Rectangle& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

// The place that a text takes: letters 0.6 wide for their size, turned or not.
std::vector<std::pair<std::string, Rectangle>> texts(const std::string& svg) {
  std::vector<std::pair<std::string, Rectangle>> found;
  const std::regex text(
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" text-anchor=\"(\\w+)\"([^>]*)>([^<]*)</text>");
  const std::regex size("font-size=\"(\\d+)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), text), end; at != end; ++at) {
    const std::string more = (*at)[4], words = (*at)[5];
    std::smatch given;
    const double letter = std::regex_search(more, given, size) ? std::stod(given[1]) : 10;
    const double x = std::stod((*at)[1]), y = std::stod((*at)[2]), length = 0.6 * letter * words.size();
    const double start = (*at)[3] == "middle" ? -length / 2 : 0;
    if (more.find("rotate(-90") != std::string::npos)
      found.push_back({words, {x - 0.8 * letter, y - start - length, x + 0.2 * letter, y - start}});
    else
      found.push_back({words, {x + start, y - 0.8 * letter, x + start + length, y + 0.2 * letter}});
  }
  return found;
}

TEST(NetworkDrawing, NamesEveryConvolutionAndNoLabelsMeet) {
  for (const auto& [graph, image] : networks()) {
    const std::string svg = network_drawing(graph, image, "a network");
    const auto labels = texts(svg);
    for (const network::Layer& layer : graph.layers) {
      if (layer.kind != network::LayerKind::convolution) continue;
      EXPECT_EQ(std::ranges::count(labels, short_name(layer), [](const auto& one) { return one.first; }), 1)
          << layer.name;
    }
    for (size_t i = 0; i < labels.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        EXPECT_FALSE(labels[i].second.meets(labels[k].second)) << labels[i].first << ", " << labels[k].first;
  }
}

// Every tag is closed in the order it was opened, and nothing stands outside of the picture.
TEST(NetworkDrawing, IsWellFormed) {
  const std::regex tag("<(/?)(\\w+)[^<>]*?(/?)>");
  for (const auto& [graph, image] : networks()) {
    const std::string svg = network_drawing(graph, image, "a & b");
    EXPECT_NE(svg.find("a &amp; b"), std::string::npos);
    std::vector<std::string> open;
    for (std::sregex_iterator at(svg.begin(), svg.end(), tag), end; at != end; ++at) {
      if ((*at)[1] == "/") {
        ASSERT_FALSE(open.empty());
        EXPECT_EQ(open.back(), (*at)[2]);
        open.pop_back();
      } else if ((*at)[3] != "/") {
        open.push_back((*at)[2]);
      }
    }
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(std::regex_replace(svg, tag, "").find_first_of("<>"), std::string::npos);
    std::smatch size;
    ASSERT_TRUE(std::regex_search(svg, size, std::regex("width=\"(\\d+)\" height=\"(\\d+)\"")));
    for (const auto& [words, place] : texts(svg)) {
      EXPECT_GE(std::min(place.left, place.top), 0) << words;
      EXPECT_LE(place.right, std::stod(size[1])) << words;
      EXPECT_LE(place.bottom, std::stod(size[2])) << words;
    }
  }
}

// Smaller maps lower, what comes later further to the right, and no two layers in one place.
TEST(NetworkLayout, PlacesLayersInOrder) {
  for (const auto& [graph, image] : networks()) {
    const NetworkLayout layout = layout_of(graph);
    for (const LayoutEdge& edge : layout.edges)
      EXPECT_LT(layout.nodes[static_cast<size_t>(edge.from)].column,
                layout.nodes[static_cast<size_t>(edge.to)].column);
    for (size_t i = 0; i < layout.nodes.size(); ++i)
      for (size_t k = 0; k < i; ++k) {
        const LayoutNode &a = layout.nodes[i], &b = layout.nodes[k];
        EXPECT_FALSE(a.row == b.row && a.column == b.column && a.lane == b.lane);
      }
    EXPECT_EQ(layout.lanes.size(), static_cast<size_t>(graph.halvings() + 1));
  }
}

}  // namespace
}  // namespace mdsm::report
