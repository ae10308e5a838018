// A run that is stopped and gone on with from its file gives what an undisturbed one gives.
#include "eval/ais_run.h"

#include <gtest/gtest.h>

#include "distributed/thread_world.h"
#include "eval/betas.h"
#include "eval/known_z.h"
#include "eval/likelihood.h"
#include "temporary_folder.h"

namespace mdsm::test {
namespace {

class AisRunTest : public testing::Test {
 protected:
  AisRunTest()
      : engine_(1, 8, 0.5, 0.1, 7), bridge_(engine_, reference_at(engine_.image_shape(), 0.5, 0.35)) {
    plan_.betas = eval::exponential_betas(40, 1e-2);
    plan_.options = {.leapfrog = 4, .eps = 0.05, .target = 0.7};
    plan_.chains = 5, plan_.pilots = 2, plan_.batch = 3, plan_.seed = 9;
  }

  eval::AisRun make(const fs::path& state, const char* version = "a") {
    return {
        bridge_,
        plan_,
        [this](int64_t first, int64_t count) {
          return engine_.exact_samples(seeds_from(static_cast<uint64_t>(first), static_cast<size_t>(count)));
        },
        {{"version", version}},
        state};
  }

  OffsetGaussian engine_;
  eval::Bridge bridge_;
  eval::AisPlan plan_;
  TemporaryFolder folder_;
  std::atomic<bool> stop_ = false;
};

TEST_F(AisRunTest, GoesOnAfterAStopAtAnyPlace) {
  eval::AisRun whole = make({});
  ASSERT_TRUE(whole.run(stop_, 1e9, {}));
  // 40 transitions of batches of 3 and 2 forward, then the same in reverse; the pilots come first.
  for (const int64_t place : {200, 290, 350, 490}) {
    const fs::path state = folder_ / std::to_string(place);
    eval::AisRun first = make(state);
    stop_ = false;
    EXPECT_FALSE(first.run(stop_, 1e9, [&](const eval::AisRun::Report& r) {
      if (r.done >= place) stop_ = true;
    })) << place;
    stop_ = false;
    eval::AisRun second = make(state);
    second.resume();
    ASSERT_TRUE(second.run(stop_, 1e9, {}));
    for (const eval::Direction direction : {eval::Direction::forward, eval::Direction::reverse}) {
      EXPECT_EQ(whole.chains(direction).log_weight, second.chains(direction).log_weight) << place;
      EXPECT_EQ(whole.chains(direction).start_energy, second.chains(direction).start_energy);
      EXPECT_EQ(whole.chains(direction).accepted, second.chains(direction).accepted);
      EXPECT_EQ(whole.chains(direction).acceptance, second.chains(direction).acceptance);
    }
  }
}

// A run that is killed when the pilots are done does not need them again.
TEST_F(AisRunTest, KeepsThePilotsSteps) {
  eval::AisRun whole = make({});
  ASSERT_TRUE(whole.run(stop_, 1e9, {}));
  const fs::path state = folder_ / "state";
  eval::AisRun first = make(state);
  EXPECT_THROW(first.run(stop_, 1e9,
                         [&](const eval::AisRun::Report& r) {
                           if (r.phase != std::string("pilot")) throw std::runtime_error("killed");
                         }),
               std::runtime_error);
  eval::AisRun second = make(state);
  second.resume();
  EXPECT_EQ(second.eps(), whole.eps());
  ASSERT_TRUE(second.run(stop_, 1e9, [](const eval::AisRun::Report& r) { EXPECT_STRNE(r.phase, "pilot"); }));
  EXPECT_EQ(second.chains(eval::Direction::reverse).log_weight,
            whole.chains(eval::Direction::reverse).log_weight);
}

TEST_F(AisRunTest, PathsNeedNotBeUtf8) {
  const fs::path state = folder_ / "state";
  eval::AisRun first = make(state, "\xff\xfe");
  EXPECT_FALSE(first.run(stop_, 1e9, [&](const eval::AisRun::Report& r) { stop_ = r.done > 250; }));
  make(state, "\xff\xfe").resume();
  EXPECT_ERROR(make(state, "b").resume(), "but \"b\" here");
}

TEST_F(AisRunTest, BatchMakesNoDifference) {
  eval::AisRun small = make({});
  plan_.batch = 64;
  eval::AisRun large = make({});
  ASSERT_TRUE(small.run(stop_, 1e9, {}) && large.run(stop_, 1e9, {}));
  EXPECT_EQ(small.chains(eval::Direction::forward).log_weight,
            large.chains(eval::Direction::forward).log_weight);
  EXPECT_EQ(small.chains(eval::Direction::reverse).log_weight,
            large.chains(eval::Direction::reverse).log_weight);
}

// Ranks as threads, each with a model of its own: whole, and stopped by one and gone on with by others.
TEST_F(AisRunTest, SharedChainsHaveTheBitsOfOneProcess) {
  eval::AisRun whole = make({});
  ASSERT_TRUE(whole.run(stop_, 1e9, {}));
  const fs::path state = folder_ / "state";
  const auto shared = [&](distributed::Communicator& world, bool resumes, int64_t place) {
    OffsetGaussian engine(1, 8, 0.5, 0.1, 7);
    eval::Bridge bridge(engine, reference_at(engine.image_shape(), 0.5, 0.35));
    const auto starts = [&](int64_t first, int64_t count) {
      return engine.exact_samples(seeds_from(static_cast<uint64_t>(first), static_cast<size_t>(count)));
    };
    eval::AisRun run(bridge, plan_, starts, {{"version", "a"}}, state, world);
    std::atomic<bool> stop = false;
    if (resumes) run.resume();
    const bool finished = run.run(stop, 1e9, [&](const eval::AisRun::Report& r) {
      stop = place > 0 && r.done >= place && world.rank() == world.size() - 1;
    });
    EXPECT_EQ(finished, place == 0);
    for (const eval::Direction direction : {eval::Direction::forward, eval::Direction::reverse}) {
      if (place > 0) continue;
      const eval::AisChains &a = whole.chains(direction), &b = run.chains(direction);
      EXPECT_EQ(a.log_weight, b.log_weight);
      EXPECT_EQ(a.start_energy, b.start_energy);
      EXPECT_EQ(a.accepted, b.accepted);
      EXPECT_EQ(a.difference, b.difference);
      EXPECT_EQ(a.acceptance, b.acceptance);
    }
  };
  for (const int ranks : {1, 2, 3, 7}) {
    distributed::run_ranks(ranks, [&](auto& world) { shared(world, false, 0); });
    distributed::run_ranks(ranks, [&](auto& world) { shared(world, false, 230); });
    distributed::run_ranks(8 - ranks, [&](auto& world) { shared(world, true, 380); });
    distributed::run_ranks(2, [&](auto& world) { shared(world, true, 0); });
  }
}

TEST_F(AisRunTest, RefusesOtherParametersAndDamage) {
  const fs::path state = folder_ / "state";
  eval::AisRun first = make(state);
  EXPECT_FALSE(first.run(stop_, 1e9, [&](const eval::AisRun::Report& r) { stop_ = r.done > 250; }));
  EXPECT_ERROR(make(state, "b").resume(), "version is \"a\" there, but \"b\" here");
  EXPECT_ERROR(make(folder_ / "none").resume(), "no such file");
  const std::string bytes = read_text(state);
  for (size_t length = 0; length < bytes.size(); length += 97) {
    put(folder_ / "cut", std::string_view(bytes).substr(0, length));
    error_of([&] { make(folder_ / "cut").resume(); });
  }
  plan_.betas = eval::exponential_betas(41, 1e-2);  // the lists no longer fit
  EXPECT_ERROR(make(state).resume(), "damaged");
}

// Likelihood from weights: both sides around the truth, and the pair of numbers per image.
TEST_F(AisRunTest, LikelihoodOfImages) {
  plan_.betas = eval::exponential_betas(400, 1e-2);
  plan_.chains = 24;
  eval::AisRun run = make({});
  ASSERT_TRUE(run.run(stop_, 1e9, {}));
  const std::vector<float> energies{30, 40, 50};
  const eval::Likelihood found = eval::likelihood_of(run, plan_, 64, energies, true);
  ASSERT_TRUE(found.lowest && found.highest && found.paired && found.gap());
  const double truth = -40 - engine_.log_z();
  EXPECT_LT(found.lowest->nats, found.highest->nats);
  EXPECT_NEAR(found.lowest->nats, truth, 3 * found.reverse->bound_error + 1);
  EXPECT_NEAR(found.highest->nats, truth, 3 * found.forward->bound_error + 1);
  EXPECT_NEAR(*found.gap(), found.highest->nats - found.lowest->nats, 1e-9);
  EXPECT_NEAR(found.lowest->bits.byte - found.lowest->bits.unit, 7.99435, 1e-5);
  EXPECT_NEAR(found.lowest->error, std::hypot(10 / std::sqrt(3), found.reverse->bound_error), 1e-9);
  double sum = 0;
  const eval::AisChains& chains = run.chains(eval::Direction::reverse);
  for (size_t i = 0; i < 24; ++i) sum -= chains.start_energy[i] + chains.log_weight[i];
  EXPECT_NEAR(found.paired->nats, sum / 24, 1e-6);
}

}  // namespace
}  // namespace mdsm::test
