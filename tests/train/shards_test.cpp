// The shards of a batch: their images, the tree in which they are added, and training with them.
#include "train/shards.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"
#include "train/tiny_run.h"

namespace mdsm::train {
namespace {

TEST(Shards, ShareTheImagesOfABatch) {
  for (const int64_t batch : {1, 7, 8, 63, 128})
    for (const int64_t shards : {1, 2, 4, 8}) {
      if (shards > batch) continue;
      int64_t next = 0;
      for (int64_t k = 0; k < shards; ++k) {
        const ImageRange shard = shard_of(batch, shards, k);
        EXPECT_EQ(shard.first, next);
        EXPECT_GE(shard.count, batch / shards);
        EXPECT_LE(shard.count, batch / shards + 1);
        next = shard.end();
      }
      EXPECT_EQ(next, batch);
    }
  EXPECT_EQ(default_shards(63), 1);
  EXPECT_EQ(default_shards(64), 2);
}

TEST(Shards, MustBeAPowerOfTwoAndNoMoreThanImages) {
  for (const int64_t shards : {1, 2, 4, 8}) EXPECT_NO_THROW(check_shards(shards, 8));
  for (const int64_t shards : {0, 3, 6, 7, 16}) EXPECT_THROW(check_shards(shards, 8), Error) << shards;
}

std::vector<std::vector<float>> tree_leaves_of(size_t count) {
  std::vector<std::vector<float>> leaves(count, std::vector<float>(40'000));
  for (size_t k = 0; k < count; ++k) RandomStream(3, Purpose::check, k).fill_normal(leaves[k]);
  return leaves;
}

std::vector<float> sum_of(TreeSum& sum, std::span<const std::vector<float>> leaves) {
  sum.clear();
  for (const auto& leaf : leaves) {
    std::ranges::copy(leaf, sum.next(leaf.size()).begin());
    sum.add();
  }
  return {sum.sum().begin(), sum.sum().end()};
}

TEST(Shards, AreAddedInATree) {
  const auto g = tree_leaves_of(8);
  TreeSum sum;
  const auto four = sum_of(sum, std::span(g).first(4));
  bool order_matters = false;
  for (size_t i = 0; i < four.size(); ++i) {
    EXPECT_EQ(four[i], (g[0][i] + g[1][i]) + (g[2][i] + g[3][i]));
    order_matters = order_matters || four[i] != ((g[0][i] + g[1][i]) + g[2][i]) + g[3][i];
  }
  EXPECT_TRUE(order_matters) << "the test cannot tell a tree from a list";
  EXPECT_EQ(sum_of(sum, std::span(g).first(1)), g[0]);  // and the memory serves again
  EXPECT_EQ(sum_of(sum, std::span(g).first(4)), four);

  const double small = 1e-16;
  EXPECT_EQ(tree_sum(std::vector{small, 1.0, small, small}), (small + 1) + (small + small));
  EXPECT_NE(tree_sum(std::vector{small, 1.0, small, small}), ((small + 1) + small) + small);
}

TEST(Shards, OfAThreeQuartersTreeThereIsNoSum) {
  TreeSum sum;
  EXPECT_THROW(sum_of(sum, tree_leaves_of(3)), Error);
}

TEST(Shards, PartsOfProcessesAreSubtrees) {
  const auto g = tree_leaves_of(8);
  TreeSum sum;
  const auto whole = sum_of(sum, g);
  for (const int64_t processes : {1, 2, 4, 8}) {
    std::vector<std::vector<float>> parts;
    for (int64_t p = 0; p < processes; ++p) {
      const ImageRange own = shards_of_process(8, processes, p);
      parts.push_back(
          sum_of(sum, std::span(g).subspan(static_cast<size_t>(own.first), static_cast<size_t>(own.count))));
    }
    EXPECT_EQ(sum_of(sum, parts), whole) << processes;
  }
  EXPECT_THROW(shards_of_process(8, 16, 0), Error);
  EXPECT_THROW(shards_of_process(8, 2, 2), Error);
}

struct TrainedShards {
  std::vector<float> weights;
  nlohmann::json line;
};

TrainedShards trained(TrainOptions options, const TinyObjective& objective, int threads) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TinyRun run(folder, options, objective);
  set_thread_count(threads);
  run.train();
  set_thread_count(0);
  return {vector_of(run.engine(), engine::StateVector::weights), curve(folder).at(0)};
}

TEST(Shards, DecideTheBitsAndThreadsDoNot) {
  for (const TinyObjective& objective :
       {TinyObjective{}, TinyObjective{"ml", {{"ml-steps", 2}, {"ml-buffer", 16}, {"ml-energy-l2", 0.01}}}}) {
    TrainOptions options = tiny_options();
    options.batch = 10;
    options.schedule.steps = options.stats_every = 3;
    const TrainedShards one = trained(options, objective, 1);
    for (const int64_t shards : {1, 2, 4}) {
      options.shards = shards;
      const TrainedShards first = trained(options, objective, 1);
      for (const int threads : {2, 3}) {
        const TrainedShards again = trained(options, objective, threads);
        EXPECT_EQ(again.weights, first.weights) << shards << " shards, " << threads << " threads";
        EXPECT_EQ(again.line, first.line);
      }
      EXPECT_EQ(first.weights == one.weights, shards == 1) << "shards have no effect";
      EXPECT_LT(distance(first.weights, one.weights), 1e-4);
      EXPECT_NEAR(first.line.at("loss").get<double>() / one.line.at("loss").get<double>(), 1, 1e-4);
    }
  }
}

// What for_shards() leaves in the engine is the tree of gradients that were each computed alone.
TEST(Shards, GradientsAreComputedAlone) {
  TrainOptions options = tiny_options();
  options.batch = 10;
  options.shards = 4;
  const Blobs data;
  const auto engine =
      engine::make_native_engine(network::Parameters::initialised(make_spec(options, data.image_shape()), 1));
  Tensor x(engine->spec().input(options.batch));
  for (int64_t i = 0; i < options.batch; ++i) data.read(i, x.view().image(i));
  std::vector<float> weight(10, 1), energy(10);
  const auto add = [&](ImageRange shard) {
    const auto first = static_cast<size_t>(shard.first), count = static_cast<size_t>(shard.count);
    engine->energy_gradient(x.view().images(shard.first, shard.count),
                            std::span(weight).subspan(first, count), std::span(energy).subspan(first, count));
  };
  std::vector<std::vector<float>> alone;
  for (int64_t k = 0; k < 4; ++k) {
    engine->zero_gradient();
    add(shard_of(options.batch, options.shards, k));
    alone.push_back(vector_of(*engine, engine::StateVector::gradient));
  }
  TreeSum sum;
  TrainObserver silent;
  engine->zero_gradient();
  for_shards({*engine, options, silent}, add);
  EXPECT_EQ(vector_of(*engine, engine::StateVector::gradient), sum_of(sum, alone));
}

// Pieces lie inside shards: 5 images are 2 + 2 + 1.
TEST(Shards, AreCutIntoMicroBatches) {
  TrainOptions options = tiny_options();
  options.batch = 10;
  options.shards = 2;
  EXPECT_EQ(options.micro(), 5);
  options.micro_batch = 2;
  std::vector<std::pair<int64_t, int64_t>> pieces;
  const auto engine = engine::make_native_engine(
      network::Parameters::initialised(make_spec(options, Blobs().image_shape()), 1));
  TrainObserver silent;
  for_micro_batches(TrainingContext{*engine, options, silent},
                    [&](int64_t first, int64_t count) { pieces.emplace_back(first, count); });
  EXPECT_EQ(pieces,
            (std::vector<std::pair<int64_t, int64_t>>{{0, 2}, {2, 2}, {4, 1}, {5, 2}, {7, 2}, {9, 1}}));
  options.schedule.steps = options.stats_every = 3;
  const TrainedShards parts = trained(options, {}, 1);
  options.micro_batch = 0;
  EXPECT_LT(distance(parts.weights, trained(options, {}, 1).weights), 1e-4);
}

}  // namespace
}  // namespace mdsm::train
