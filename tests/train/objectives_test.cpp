// The registry of objectives, through one that only this test knows: everything about it follows from its
// row.
#include "train/objectives.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/mean.h"
#include "network/model_file.h"
#include "train/resume_options.h"
#include "train/tiny_run.h"

namespace mdsm::train {
namespace {

using nlohmann::json;

// Lowers the energy of the data, weighted, and keeps the mean image of the last batch and a count of steps.
class Pull : public Objective {
 public:
  void declare(OptionSet& set) override { set.add("pull-weight", weight_, "how hard to pull").range(0, 10); }
  std::vector<std::string> may_change() const override { return {"pull-weight"}; }
  void resolve(OptionSet& set) override { set.set_default("sigma0", "0.25"); }
  void validate(const TrainOptions& options) const override {
    if (options.batch == 1) fail_usage("give more", "a batch of 1 is not enough to pull");
  }
  size_t memory(const network::Spec& spec) const override {
    return static_cast<size_t>(spec.input(1).count()) * sizeof(float);
  }

  void begin(const TrainingContext& run) override {
    mean_.resize(static_cast<size_t>(run.engine.spec().input(1).count()));
  }
  void gradient(const TrainingContext& run, int64_t, ConstTensorView clean, bool,
                StepResult& result) override {
    next_.assign(mean_.size(), 0);
    for (int64_t i = 0; i < clean.shape.n; ++i)
      for (size_t k = 0; k < next_.size(); ++k)
        next_[k] += clean.image(i)[k] / static_cast<float>(clean.shape.n);
    const auto n = static_cast<size_t>(clean.shape.n);
    const std::vector<float> weights(n, static_cast<float>(weight_ / static_cast<double>(n)));
    std::vector<float> energy(n);
    run.engine.energy_gradient(clean, weights, energy);
    result.loss = weight_ * mean(energy);
    result.own = {{"pulled", "pull/steps", {static_cast<double>(steps_)}, true}};
  }
  void applied() override {
    ++steps_;
    mean_ = next_;
  }

  void save(StateWriter& to) const override {
    to.tensor("mean_image", {1, static_cast<int64_t>(mean_.size())}, mean_);
    to.values["steps"] = steps_;
  }
  void load(StateReader& from, const network::Spec& spec) override {
    mean_ = from.tensor("mean_image", std::vector<int64_t>{1, spec.input(1).count()});
    steps_ = from.values.at("steps").get<int64_t>();
  }
  json trained() const override { return {{"pull", weight_}}; }

  int64_t steps() const { return steps_; }
  const std::vector<float>& mean_image() const { return mean_; }

 private:
  double weight_ = 1;
  int64_t steps_ = 0;
  std::vector<float> mean_, next_;
};

void add_pull() {
  if (!objectives().find("pull"))
    objectives().add({"pull", "lowers the energy of the data", [] { return std::make_unique<Pull>(); }});
}

// --objective and what belongs to it, as a command declares it.
struct Fixture {
  explicit Fixture(const std::vector<std::string>& arguments) : set("train", "") {
    declare_train_options(set, options, choice);
    defaults = set.to_json();
    set.parse(arguments);
  }
  TrainOptions options;
  ObjectiveChoice choice;
  OptionSet set;
  json defaults;
};

TEST(Objectives, TheOptionsOfAnAddedOneAreDeclared) {
  add_pull();
  Fixture f({"--objective", "pull", "--pull-weight", "3"});
  f.choice.resolve(f.set);
  EXPECT_EQ(f.choice.chosen().name(), "pull");
  EXPECT_EQ(f.choice.chosen().trained(), json({{"pull", 3.0}}));
  EXPECT_EQ(f.options.sigma0, 0.25);  // as it implies
  EXPECT_EQ(f.set.to_json().at("pull-weight"), 3.0);
  EXPECT_NE(f.set.help().find("pull: lowers the energy of the data"), std::string::npos);
  EXPECT_NE(f.set.help().find("pull: how hard to pull"), std::string::npos);
  f.options.batch = 1;
  EXPECT_THROW(f.choice.chosen().validate(f.options), Error);
}

TEST(Objectives, OptionsOfOthersAreRefused) {
  add_pull();
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--pull-weight", "3"}, "--pull-weight has no meaning for --objective mdsm"},
      {{"--objective", "ml", "--pull-weight", "3"}, "--pull-weight has no meaning for --objective ml"},
      {{"--objective", "pull", "--ml-eps", "3"}, "--ml-eps has no meaning for --objective pull"},
      {{"--objective", "pull", "--noise", "linear"}, "--noise has no meaning for --objective pull"}};
  for (const auto& [arguments, message] : wrong) try {
      Fixture f(arguments);
      f.choice.resolve(f.set);
      ADD_FAILURE() << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(error.message().find(message), std::string::npos) << error.what();
    }
  EXPECT_THROW(make_objective("push"), Error);
}

TEST(Objectives, WhatAnAddedOneMayChangeOnResumeIsItsOwnBusiness) {
  add_pull();
  Fixture run({"--objective", "pull", "--pull-weight", "3"});
  run.choice.resolve(run.set);
  const json recorded = run.set.to_json();
  Fixture resumed({"--pull-weight", "5"});
  apply_recorded(resumed.set, resumed.choice, recorded, resumed.defaults, "options.json");
  EXPECT_EQ(resumed.choice.chosen().trained(), json({{"pull", 5.0}}));
  EXPECT_EQ(options_hash(resumed.set.to_json(), resumed.defaults, resumed.choice),
            options_hash(recorded, run.defaults, run.choice));
  // A run of another objective does not see that there is one more.
  const Fixture plain({});
  json before = plain.defaults;
  before.erase("pull-weight");
  EXPECT_EQ(options_hash(plain.set.to_json(), plain.defaults, plain.choice),
            options_hash(before, plain.defaults, plain.choice));
}

TEST(Objectives, AnAddedOneIsTrainedAndResumed) {
  add_pull();
  const TinyObjective pull{"pull", {{"pull-weight", 2}}};
  TrainOptions options = tiny_options();
  options.schedule.steps = 3;
  options.stats_every = 3;
  const auto run = [&](RunFolder& folder, std::vector<int64_t> stops) {
    for (const int64_t stop : stops) TinyRun(folder, options, pull).train(stop);
    return read_text(folder.weights());
  };
  const TemporaryFolder parts, whole;
  RunFolder stopped = new_folder(parts), straight = new_folder(whole);
  EXPECT_EQ(run(stopped, {2, 0}), run(straight, {0}));

  const auto loaded = pull.make();
  const Blobs data;
  const network::Spec spec = make_spec(options, data.image_shape());
  const auto engine = engine::make_native_engine(network::Parameters::initialised(spec, 0));
  StateFile(stopped.state(), spec).load(*engine, *loaded);
  const Pull& state = dynamic_cast<const Pull&>(*loaded);
  EXPECT_EQ(state.steps(), 3);
  EXPECT_GT(*std::ranges::max_element(state.mean_image()), 0.01f);

  const std::vector<StatsRecord> lines = read_stats(stopped.stats());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_DOUBLE_EQ(value_of(lines[0].own, "pulled"), 1);  // mean of 0, 1 and 2, over the stop
  EXPECT_EQ(to_json(lines[0]).contains("loss_quarters"), false);
  EXPECT_NE(loaded->log_line(lines[0]).find("pulled 1"), std::string::npos) << loaded->log_line(lines[0]);
  const json info = network::load_model(stopped.ema()).info;
  EXPECT_EQ(info.at("trained").at("objective"), "pull");
  EXPECT_EQ(info.at("trained").at("pull"), 2.0);
  EXPECT_EQ(info.at("sampling").at("temperature"), json({1.0, 1}));

  for (const char* other : {"mdsm", "ml"}) EXPECT_THROW(TinyRun(stopped, options, {other}), Error) << other;
  const TemporaryFolder plain;
  RunFolder without = new_folder(plain);
  TinyRun(without, options).train(1);
  EXPECT_THROW(TinyRun(without, options, pull), Error);
}

}  // namespace
}  // namespace mdsm::train
