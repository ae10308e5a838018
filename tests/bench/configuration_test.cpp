#include "bench/configuration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "bench/native_steps.h"
#include "core/error.h"
#include "network/layers.h"
#include "temporary_folder.h"

namespace mdsm::bench {
namespace {

Configuration tiny(network::Network network, network::Head head) {
  Configuration config;
  config.spec.network = network;
  config.spec.head = head;
  config.spec.width = 8;
  config.spec.size = network == network::Network::res34 ? 16 : 8;
  config.spec.channels = 3;
  config.batch = 3;
  return config;
}

class WorkOfSteps : public testing::TestWithParam<std::tuple<network::Network, network::Head>> {};

// Two independent counts of the same work: the formula, and what the engine reports layer by layer.
TEST_P(WorkOfSteps, IsTheSumOverTheProfile) {
  const Configuration config = tiny(std::get<0>(GetParam()), std::get<1>(GetParam()));
  const TemporaryFolder folder;
  write_problem(folder.path(), config, 0);
  NativeSteps steps(read_problem(folder.path(), config), {});
  for (const Task task : {Task::training, Task::langevin}) {
    double total = 0;
    std::map<std::string, int> seen;
    for (const engine::LayerTime& time : steps.profile(task, 2).layers) {
      total += time.flop;
      EXPECT_GT(time.seconds, 0) << time.layer;
      ++seen[time.layer];
    }
    EXPECT_NEAR(total / flop(config, task), 1, 1e-12) << to_string(task);
    for (const network::LayerInfo& layer : network::layers(config.spec)) {
      const std::string row = layer.name[0] == 'l' ? "head" : layer.name;
      EXPECT_EQ(seen.count(row), 1) << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, WorkOfSteps,
                         testing::Values(std::tuple{network::Network::res6, network::Head::quadratic},
                                         std::tuple{network::Network::res12, network::Head::linear},
                                         std::tuple{network::Network::res34, network::Head::quadratic}));

TEST(Configuration, ProfileIsOffUnlessAskedFor) {
  const Configuration config = tiny(network::Network::res6, network::Head::quadratic);
  const TemporaryFolder folder;
  write_problem(folder.path(), config, 0);
  NativeSteps steps(read_problem(folder.path(), config), {});
  engine::native_profile_start();
  engine::native_profile_stop();
  steps.train(1);
  EXPECT_FALSE(engine::native_profiling());
  EXPECT_TRUE(engine::native_profile_stop().empty());
}

TEST(Configuration, FullSuiteHoldsTheNetworksOfTheTargets) {
  std::vector<std::string> names;
  for (const Configuration& config : suite(Suite::full)) {
    validate(config.spec);
    names.push_back(text(config));
  }
  for (const char* wanted : {"res12 width 16, 128 images 1x32x32", "res12 width 32, 128 images 1x32x32",
                             "res12 width 64, 128 images 1x32x32", "res18 width 128, 16 images 3x32x32",
                             "res12 width 32, 32 images 3x64x64", "unet width 64, 128 images 3x32x32"})
    EXPECT_TRUE(std::ranges::count(names, wanted)) << wanted;
  EXPECT_EQ(suite(Suite::quick).size(), 1);
}

TEST(Configuration, GrowthChangesOneNumberAtATime) {
  for (const Growth& growth : growth_suite())
    for (const Configuration& config : growth.configurations) {
      Configuration same = growth.configurations[0];
      if (growth.what == "batch") same.batch = config.batch;
      if (growth.what == "width") same.spec.width = config.spec.width;
      if (growth.what == "size") same.spec.size = config.spec.size;
      EXPECT_EQ(same, config) << growth.what;
      validate(config.spec);
    }
}

}  // namespace
}  // namespace mdsm::bench
