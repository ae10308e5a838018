#include "train/trainer.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "io/safetensors.h"
#include "network/model_file.h"
#include "train/tiny_run.h"

namespace mdsm::train {
namespace {

using nlohmann::json;

struct Outcome {
  std::vector<float> weights, ema;
  std::vector<json> stats;
  std::string weights_file;
};

Outcome outcome(TinyRun& run, const RunFolder& folder) {
  return {vector_of(run.engine(), engine::StateVector::weights),
          vector_of(run.engine(), engine::StateVector::ema), curve(folder), read_text(folder.weights())};
}

Outcome uninterrupted(const TrainOptions& options, const TinyObjective& objective = {}) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TinyRun run(folder, options, objective);
  EXPECT_EQ(run.train(), options.schedule.steps);
  return outcome(run, folder);
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.ema, b.ema);
  EXPECT_EQ(a.stats, b.stats);
  EXPECT_EQ(a.weights_file, b.weights_file);
}

TEST(Training, TheSameSeedGivesTheSameRun) {
  const Outcome first = uninterrupted(tiny_options());
  expect_same(first, uninterrupted(tiny_options()));
  ASSERT_EQ(first.stats.size(), 3u);  // steps 5, 10 and the last
  EXPECT_EQ(first.stats[2].at("step"), 12);
  TrainOptions other = tiny_options();
  other.seed = 1;
  EXPECT_NE(uninterrupted(other).weights, first.weights);
}

TEST(Training, TheLossFalls) {
  TrainOptions options = tiny_options();
  options.schedule.steps = 60;
  options.schedule.lr = 5e-3;
  options.stats_every = 20;
  const auto stats = uninterrupted(options).stats;
  EXPECT_LT(stats[2].at("loss").get<double>(), 0.7 * stats[0].at("loss").get<double>());
}

// Stopped after 3, then 4 steps (neither a multiple of anything), then to the end.
TEST(Training, StoppingAndResumingIsBitForBit) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  for (const int64_t stop_after : {3, 4}) TinyRun(folder, tiny_options()).train(stop_after);
  TinyRun last(folder, tiny_options());
  EXPECT_EQ(last.start().step, 7);
  EXPECT_EQ(last.train(), 12);
  expect_same(outcome(last, folder), uninterrupted(tiny_options()));
}

TinyObjective likelihood(const std::string& chains) {
  return {"ml", {{"ml-chains", chains}, {"ml-buffer", 20}, {"ml-steps", 5}, {"ml-restart", 0.3}}};
}

TinyObjective learned(const std::string& importance) {
  return {"mdsm", {{"weighting", "learned"}, {"importance", importance}}};
}

// A tensor of the folder's last checkpoint; none where it has none.
std::vector<float> saved(const fs::path& state, const char* name) {
  const io::SafetensorsFile file(state);
  return file.find(name) ? file.read(*file.find(name)) : std::vector<float>();
}

TEST(Training, StoppingAndResumingOtherObjectivesIsBitForBit) {
  const TinyObjective weighted{"mdsm", {{"importance", "batch"}}};
  const TrainOptions options = tiny_options();
  for (const TinyObjective& objective :
       {likelihood("persistent"), likelihood("noise"), weighted, learned("none"), learned("batch")}) {
    const TemporaryFolder out;
    RunFolder folder = new_folder(out);
    for (const int64_t stop_after : {3, 4}) TinyRun(folder, options, objective).train(stop_after);
    TinyRun last(folder, options, objective);
    EXPECT_EQ(last.train(), 12);
    const TemporaryFolder whole;
    RunFolder at_once = new_folder(whole);
    TinyRun all(at_once, options, objective);
    all.train();
    expect_same(outcome(last, folder), outcome(all, at_once));
    const std::vector<float> chains = saved(folder.state(), "chains");
    EXPECT_EQ(chains, saved(at_once.state(), "chains"));
    EXPECT_EQ(chains.size(), objective.options.value("ml-chains", "") == "persistent" ? 20u * 256u : 0u);
    const std::vector<float> averages = saved(folder.state(), "level_averages");
    EXPECT_EQ(averages, saved(at_once.state(), "level_averages"));
    EXPECT_EQ(averages.size(), objective.options.contains("weighting") ? 8u : 0u);
  }
}

TrainOptions unet_options(network::Head head) {
  TrainOptions options = tiny_options();
  options.network = network::Network::unet;
  options.levels = 2;
  options.head = head;
  return options;
}

// As a denoiser until step 5, as an energy from there on; stopped before, at and after it.
TEST(Training, StepsAsADenoiserComeFirst) {
  const TinyObjective five{"mdsm", {{"denoiser-steps", 5}}};
  const TrainOptions energy = unet_options(network::Head::squared_residual);
  const Outcome whole = uninterrupted(energy, five);
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TinyRun(folder, energy, five).train(3);
  TinyRun(folder, energy, five).train(2);
  const std::vector<float> at_five = saved(folder.state(), "weights.in.weight");
  TinyRun last(folder, energy, five);
  EXPECT_EQ(last.train(), 12);
  expect_same(outcome(last, folder), whole);

  const TemporaryFolder other;
  RunFolder plain = new_folder(other);
  TinyRun(plain, unet_options(network::Head::denoiser)).train(5);
  EXPECT_FALSE(at_five.empty());
  EXPECT_EQ(at_five, saved(plain.state(), "weights.in.weight"));
  EXPECT_NE(whole.weights, uninterrupted(energy).weights);
}

// Each counts beside the other, and the averages are of errors as they are: without importance weights.
TEST(Training, LearnedWeightsGoWithImportance) {
  TrainOptions options = tiny_options();
  options.schedule.steps = 3;
  const auto trained = [&](const TinyObjective& objective) {
    return uninterrupted(options, objective).weights;
  };
  const auto both = trained(learned("batch"));
  EXPECT_NE(both, trained(learned("none")));
  EXPECT_NE(both, trained({"mdsm", {{"importance", "batch"}}}));

  // Errors of the first step are those of the same network on the same images.
  std::vector<std::vector<float>> averages;
  for (const char* importance : {"none", "batch"}) {
    const TemporaryFolder out;
    RunFolder folder = new_folder(out);
    TinyRun(folder, options, learned(importance)).train(1);
    averages.push_back(saved(folder.state(), "level_averages"));
  }
  ASSERT_EQ(averages[0].size(), 8u);
  EXPECT_EQ(averages[0], averages[1]);
}

// The averages are part of the state: a run that was started without them is not this one.
TEST(Training, AStateWithTheAveragesOfAnotherRunIsRefused) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TinyRun(folder, tiny_options(), learned("none")).train(3);
  EXPECT_THROW(TinyRun(folder, tiny_options()), Error);
}

TEST(Training, AStateWithoutItsChainsIsRefused) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TinyRun(folder, tiny_options(), likelihood("noise")).train(3);
  EXPECT_THROW(TinyRun(folder, tiny_options(), likelihood("persistent")), Error);
}

TEST(Training, AStateWithTheChainsOfAnotherRunIsRefused) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TinyRun(folder, tiny_options(), likelihood("persistent")).train(3);
  for (const TinyObjective& other : {likelihood("noise"), TinyObjective{}}) try {
      TinyRun(folder, tiny_options(), other);
      ADD_FAILURE() << other.name;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("its chains are not of this run"), std::string::npos) << error.what();
    }
}

class StopAt : public TrainObserver {
 public:
  StopAt(int64_t step, std::atomic<bool>& stop) : step_(step), stop_(stop) {}
  void on_batch(int64_t step, ConstTensorView, ConstTensorView, std::span<const float>) override {
    if (step == step_) stop_ = true;
  }

 private:
  int64_t step_;
  std::atomic<bool>& stop_;
};

TEST(Training, TheStopFlagFinishesTheStepAndSaves) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TinyRun run(folder, tiny_options());
  StopAt observer(5, run.stop());
  EXPECT_EQ(run.train(0, observer), 6);
  EXPECT_EQ(TinyRun(folder, tiny_options()).start().step, 6);
}

TEST(Training, MicroBatchesGiveTheSameStep) {
  TrainOptions options = tiny_options();
  options.schedule.steps = 3;
  const Outcome whole = uninterrupted(options);
  options.micro_batch = 3;  // 3 + 3 + 2
  const Outcome parts = uninterrupted(options);
  EXPECT_LT(distance(parts.weights, whole.weights), 1e-4);
  EXPECT_NEAR(parts.stats[0].at("loss").get<double>() / whole.stats[0].at("loss").get<double>(), 1, 1e-4);
  EXPECT_NEAR(parts.stats[0].at("energy_data").get<double>(), whole.stats[0].at("energy_data").get<double>(),
              1e-3);
}

TEST(Training, ClippingBoundsTheGradientThatAdamSees) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TrainOptions options = tiny_options();
  options.clip = 1e-4;
  options.schedule.steps = 1;
  TinyRun run(folder, options);
  run.train();
  double norm = 0;  // after one step the mean is (1 - beta1) times the clipped gradient
  for (const float m : vector_of(run.engine(), engine::StateVector::adam_m)) norm += std::pow(m / 0.1, 2);
  EXPECT_NEAR(std::sqrt(norm), 1e-4, 1e-7);
  EXPECT_GT(curve(folder)[0].at("grad_norm").get<double>(), 1e-3);
}

class PoisonAt : public TrainObserver {
 public:
  PoisonAt(int64_t step, engine::TrainableEnergy& engine) : step_(step), engine_(engine) {}
  void on_batch(int64_t step, ConstTensorView, ConstTensorView, std::span<const float>) override {
    if (step != step_) return;
    auto weights = vector_of(engine_, engine::StateVector::weights);
    weights[0] = std::numeric_limits<float>::infinity();
    engine_.write(engine::StateVector::weights, weights);
  }

 private:
  int64_t step_;
  engine::TrainableEnergy& engine_;
};

TEST(Training, StopsAtANonFiniteLossAndCanGoOn) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  {
    TinyRun run(folder, tiny_options());
    PoisonAt observer(6, run.engine());
    try {
      run.train(0, observer);
      FAIL() << "trained on";
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("step 7"), std::string::npos) << error.what();
      EXPECT_NE(error.message().find("not finite"), std::string::npos) << error.what();
      EXPECT_NE(error.hint().find("--resume " + folder.path().string()), std::string::npos) << error.what();
      EXPECT_NE(error.hint().find("--clip 1"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(fs::exists(folder.failed_state()));
  }
  TinyRun again(folder, tiny_options());  // from the last good checkpoint
  EXPECT_EQ(again.start().step, 4);
  again.train();
  expect_same(outcome(again, folder), uninterrupted(tiny_options()));
}

// The step that failed has moved no chain.
TEST(Training, ANonFiniteSampleStopsMaximumLikelihood) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  const TrainOptions options = tiny_options();
  const TinyObjective objective = likelihood("persistent");
  {
    TinyRun run(folder, options, objective);
    PoisonAt observer(4, run.engine());
    EXPECT_THROW(run.train(0, observer), Error);
    ASSERT_FALSE(saved(folder.failed_state(), "chains").empty());
    EXPECT_EQ(saved(folder.failed_state(), "chains"), saved(folder.state(), "chains"));  // of step 4
  }
  TinyRun again(folder, options, objective);
  again.train();
  expect_same(outcome(again, folder), uninterrupted(options, objective));
}

// A rate that throws the weights far out: the guard must see it by itself.
TEST(Training, StopsWhenTheRunDiverges) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TrainOptions options = tiny_options();
  options.schedule.lr = 1e12;
  TinyRun run(folder, options);
  EXPECT_THROW(run.train(), Error);
  for (const float w : vector_of(run.engine(), engine::StateVector::weights)) ASSERT_TRUE(std::isfinite(w));
  EXPECT_EQ(TinyRun(folder, options).start().step, 0);
}

TEST(Training, ModelFilesHoldWhatLaterCommandsNeed) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TrainOptions options = tiny_options();
  options.snapshot_every = 6;
  options.preview_every = 12;
  TinyRun run(folder, options);
  run.train();
  const network::Model ema = network::load_model(folder.ema());
  EXPECT_TRUE(std::ranges::equal(ema.parameters.values(), vector_of(run.engine(), engine::StateVector::ema)));
  EXPECT_NE(vector_of(run.engine(), engine::StateVector::ema),
            vector_of(run.engine(), engine::StateVector::weights));
  EXPECT_EQ(ema.info.at("trained").at("step"), 12);
  EXPECT_EQ(ema.info.at("sampling").at("eps"), 0.02);
  EXPECT_EQ(network::load_model(folder.snapshot(6)).info.at("trained").at("step"), 6);
  EXPECT_TRUE(fs::exists(folder.preview(12)));
}

TEST(Training, RefusesOtherData) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TinyRun(folder, tiny_options()).train(1);
  EXPECT_THROW(TinyRun(folder, tiny_options(), {}, 201), Error);
}

}  // namespace
}  // namespace mdsm::train
