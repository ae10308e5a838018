// Training by several ranks, as threads: the sum over ranks in the tree of shards, and whole runs with the
// same bits for any number of ranks, also when one number of them goes on with what another began.
#include "train/rank_sum.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "core/error.h"
#include "core/random.h"
#include "distributed/thread_world.h"
#include "train/tiny_run.h"

namespace mdsm::train {
namespace {

using distributed::Communicator;
using distributed::run_ranks;

constexpr size_t kCount = 1001;

std::vector<std::vector<float>> leaves_of(int64_t count) {
  std::vector<std::vector<float>> leaves(static_cast<size_t>(count), std::vector<float>(kCount));
  for (size_t k = 0; k < leaves.size(); ++k) RandomStream(4, Purpose::check, k).fill_normal(leaves[k]);
  return leaves;
}

void add_leaves(TreeSum& sum, const std::vector<std::vector<float>>& leaves, ImageRange range) {
  sum.clear(range.first);
  for (int64_t k = range.first; k < range.end(); ++k) {
    std::ranges::copy(leaves[static_cast<size_t>(k)], sum.next(kCount).begin());
    sum.add();
  }
}

TEST(RankSum, SubtreesAreTheLargestThatFit) {
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  const auto pairs = [](ImageRange leaves) {
    Pairs found;
    for (const ImageRange& one : subtrees(leaves)) found.emplace_back(one.first, one.count);
    return found;
  };
  EXPECT_EQ(pairs({0, 8}), (Pairs{{0, 8}}));
  EXPECT_EQ(pairs({2, 3}), (Pairs{{2, 2}, {4, 1}}));
  EXPECT_EQ(pairs({5, 3}), (Pairs{{5, 1}, {6, 2}}));
  EXPECT_EQ(pairs({1, 6}), (Pairs{{1, 1}, {2, 2}, {4, 2}, {6, 1}}));
}

TEST(RankSum, HasTheBitsOfOneProcess) {
  for (const int64_t shards : {1, 2, 8, 16}) {
    const auto leaves = leaves_of(shards);
    TreeSum whole;
    add_leaves(whole, leaves, {0, shards});
    const std::vector<float> expected(whole.sum().begin(), whole.sum().end());
    for (const int size : {2, 3, 4, 5, 7, 8}) {
      if (size > shards) continue;
      run_ranks(size, [&](Communicator& world) {
        TreeSum own;
        RankSum sum(world, shards);
        for (int again = 0; again < 2; ++again) {  // the memory serves twice
          add_leaves(own, leaves, shards_of_process(shards, size, world.rank()));
          std::vector<float> result(kCount);
          sum.begin(own, result);
          for (const auto& [first, count] :
               {std::pair<size_t, size_t>{501, kCount - 501}, {500, 1}, {0, 500}})
            sum.send({first, count});
          sum.finish();
          EXPECT_EQ(result, expected) << shards << " shards, " << size << " ranks";
        }
      });
    }
  }
}

// Ranks with one subtree each send no more than a ring does.
TEST(RankSum, SendsWhatARingSends) {
  const int64_t shards = 8;
  const auto leaves = leaves_of(shards);
  for (const int size : {2, 4, 8}) {
    std::mutex mutex;
    uint64_t sent = 0;
    run_ranks(size, [&](Communicator& world) {
      TreeSum own;
      RankSum sum(world, shards);
      add_leaves(own, leaves, shards_of_process(shards, size, world.rank()));
      std::vector<float> result(kCount);
      sum.begin(own, result);
      sum.send({0, kCount});
      sum.finish();
      const std::lock_guard lock(mutex);
      sent += world.bytes_sent();
    });
    EXPECT_EQ(sent, 2u * static_cast<uint64_t>(size - 1) * kCount * sizeof(float)) << size;
  }
}

struct Trained {
  std::vector<float> weights, ema;
  std::vector<nlohmann::json> lines;
};

class Runs {
 public:
  Runs(TrainOptions options, TinyObjective objective)
      : options_(std::move(options)), objective_(std::move(objective)), folder_(new_folder(out_)) {}

  // All ranks end with the same weights.
  Trained train(int size, int64_t stop_after = 0) {
    std::vector<std::vector<float>> weights(static_cast<size_t>(size));
    Trained found;
    run_ranks(size, [&](Communicator& world) {
      TinyRun run(world.first() ? &folder_ : nullptr, options_, objective_, 200, world);
      run.train(stop_after);
      weights[static_cast<size_t>(world.rank())] = vector_of(run.engine(), engine::StateVector::weights);
      if (world.first()) found.ema = vector_of(run.engine(), engine::StateVector::ema);
    });
    for (const auto& one : weights) EXPECT_EQ(one, weights[0]);
    found.weights = weights[0];
    found.lines = curve(folder_);
    return found;
  }

 private:
  TemporaryFolder out_;
  TrainOptions options_;
  TinyObjective objective_;
  RunFolder folder_;
};

TrainOptions options_of_8_shards() {
  TrainOptions options = tiny_options();
  options.batch = 16;
  options.shards = 8;
  options.schedule.steps = 6;
  options.stats_every = 3;
  return options;
}

const std::map<std::string, TinyObjective> kObjectives = {
    {"mdsm", {}},
    {"learned", {"mdsm", {{"weighting", "learned"}}}},
    {"importance", {"mdsm", {{"importance", "batch"}}}},
    {"single", {"single", {{"noise", "single"}}}},
    {"ml", {"ml", {{"ml-steps", 2}, {"ml-buffer", 24}, {"ml-energy-l2", 0.01}}}}};

class Objectives : public testing::TestWithParam<std::string> {};

TEST_P(Objectives, AreTrainedToTheSameBitsByAnyNumberOfRanks) {
  const TinyObjective objective = kObjectives.at(GetParam());
  const Trained one = Runs(options_of_8_shards(), objective).train(1);
  for (const int size : {2, 3, 4, 8}) {
    const Trained several = Runs(options_of_8_shards(), objective).train(size);
    EXPECT_EQ(several.weights, one.weights) << size;
    EXPECT_EQ(several.ema, one.ema) << size;
    EXPECT_EQ(several.lines, one.lines) << size;
  }
}

TEST_P(Objectives, GoOnWithAnotherNumberOfRanks) {
  const TinyObjective objective = kObjectives.at(GetParam());
  const Trained whole = Runs(options_of_8_shards(), objective).train(1);
  Runs runs(options_of_8_shards(), objective);
  runs.train(4, 2);
  runs.train(1, 2);
  const Trained last = runs.train(3);
  EXPECT_EQ(last.weights, whole.weights);
  EXPECT_EQ(last.lines, whole.lines);
}

INSTANTIATE_TEST_SUITE_P(All, Objectives, testing::Values("mdsm", "learned", "importance", "single", "ml"),
                         [](const auto& one) { return one.param; });

TEST(Ranks, MoreThanShardsAreRefused) {
  TrainOptions options = options_of_8_shards();
  options.shards = 2;
  try {
    Runs(options, {}).train(4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("4 processes cannot share a batch of 2 shards"),
              std::string::npos);
  }
}

// A stop that one rank is asked for is everybody's, in the same step.
TEST(Ranks, StopTogether) {
  TemporaryFolder out;
  RunFolder folder = new_folder(out);
  std::vector<int64_t> steps(4);
  run_ranks(4, [&](Communicator& world) {
    TinyRun run(world.first() ? &folder : nullptr, options_of_8_shards(), {}, 200, world);
    struct Stopper : TrainObserver {
      std::atomic<bool>* stop = nullptr;
      void on_step(int64_t done, const StepResult&) override {
        if (stop && done == 4) *stop = true;
      }
    } stopper;
    if (world.rank() == 2) stopper.stop = &run.stop();
    steps[static_cast<size_t>(world.rank())] = run.train(0, stopper);
  });
  EXPECT_EQ(steps, std::vector<int64_t>(4, 4));
}

TEST(Ranks, AllNoticeALossThatIsNotFinite) {
  TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TrainOptions options = options_of_8_shards();
  options.schedule.lr = 1e30;
  std::atomic<int> noticed = 0;
  const auto body = [&](Communicator& world) {
    TinyRun run(world.first() ? &folder : nullptr, options, {}, 200, world);
    try {
      run.train();
    } catch (const Error& error) {
      if (std::string(error.what()).find("not finite") != std::string::npos) ++noticed;
      throw;
    }
  };
  EXPECT_THROW(run_ranks(4, body), Error);
  EXPECT_EQ(noticed, 4);
  EXPECT_TRUE(fs::exists(folder.failed_state()));
}

}  // namespace
}  // namespace mdsm::train
