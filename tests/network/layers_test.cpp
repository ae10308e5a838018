#include "network/layers.h"

#include <gtest/gtest.h>

namespace mdsm::network {
namespace {

TEST(Layers, SumsAgreeWithTheSpec) {
  for (const Network network : {Network::res6, Network::res12, Network::res18, Network::res34})
    for (const Head head : {Head::quadratic, Head::linear})
      for (const int64_t channels : {1, 3}) {
        const Spec spec{.network = network, .width = 12, .channels = channels, .size = 48, .head = head};
        int64_t parameters = 0, cost = 0;
        for (const LayerInfo& layer : layers(spec)) {
          parameters += layer.parameters;
          cost += layer.multiply_adds;
        }
        EXPECT_EQ(parameters, parameter_count(spec));
        EXPECT_EQ(cost, multiply_adds(spec));
      }
}

TEST(Layers, ShapesOfRes12) {
  const auto list = layers({.network = Network::res12, .width = 64, .channels = 1, .size = 32});
  ASSERT_EQ(list.size(), 1u + 6 * 3 + 3);
  EXPECT_EQ(list[0].name, "conv1");
  EXPECT_EQ(list[0].output, (Shape{1, 64, 32, 32}));
  EXPECT_EQ(list[2].name, "rb1.conv_2");
  EXPECT_EQ(list[2].output, (Shape{1, 128, 16, 16}));
  EXPECT_EQ(list[18].name, "rbc3.conv_shortcut");
  EXPECT_EQ(list[18].output, (Shape{1, 512, 4, 4}));
  EXPECT_EQ(list[19].multiply_adds, 512 * 16);
}

}  // namespace
}  // namespace mdsm::network
