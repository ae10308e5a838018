#include "train/train_options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "train/resume_options.h"

namespace mdsm::train {
namespace {

using nlohmann::json;

// The options of mdsm train that the tests need, without the command around them.
struct OptionsFixture {
  OptionsFixture(std::vector<std::string> arguments) : set("train", "") {
    set.add("data", data, "");
    set.add("flip", flip, "");
    set.add("exact", exact, "");
    set.add("crop", crop, "");
    set.add("resize", resize, "");
    set.add("pad", pad, "");
    declare_train_options(set, options, objectives);
    defaults = set.to_json();
    set.parse(arguments);
  }
  std::string data;
  bool flip = false, exact = false;
  int64_t crop = 0, resize = 0, pad = -1;
  // As mdsm train does for a new run.
  void resolve(const std::string& source, Recipe recipe = Recipe::none) {
    apply_recipe(set, recipe, options.preset, source);
    objectives.resolve(set);
    set_default_shards(set, options);
  }
  void resume(const json& recorded) { apply_recorded(set, objectives, recorded, defaults, "options.json"); }
  json now(const char* name) const { return set.to_json().at(name); }

  TrainOptions options;
  ObjectiveChoice objectives;
  OptionSet set;
  json defaults;
};

std::string hash_of(const json& resolved) {
  const OptionsFixture f({});
  return options_hash(resolved, f.defaults, f.objectives);
}

TEST(Presets, GiveThePapersSettings) {
  OptionsFixture cifar({"--preset", "cifar10"});
  cifar.resolve(cifar.data, Recipe::paper);
  EXPECT_EQ(cifar.data, "cifar10");
  EXPECT_EQ(cifar.options.network, network::Network::res18);
  EXPECT_EQ(cifar.options.width, 128);
  EXPECT_EQ(cifar.now("noise"), "linear");
  EXPECT_EQ(cifar.now("sigma-min"), 0.05);
  EXPECT_EQ(cifar.now("sigma-max"), 1.2);
  EXPECT_EQ(cifar.options.schedule.steps, 300'000);
  EXPECT_EQ(cifar.options.schedule.lr, 5e-5);
  EXPECT_EQ(cifar.options.batch, 128);

  OptionsFixture celeba({"--preset", "celeba", "--data", "faces"});
  celeba.resolve(celeba.data, Recipe::paper);
  EXPECT_EQ(celeba.data, "faces");
  EXPECT_TRUE(celeba.flip);
  EXPECT_EQ(celeba.crop, 140);
}

TEST(Recipes, PaperIsThePresetOfTheDataSet) {
  OptionsFixture named({"--preset", "cifar10"}), by_data({"--data", "cifar10"});
  named.resolve(named.data, Recipe::paper);
  by_data.resolve(by_data.data, Recipe::paper);
  EXPECT_EQ(named.set.to_json(), by_data.set.to_json());
  EXPECT_EQ(by_data.options.width, 128);
  OptionsFixture folder({"--data", "photos"}), plain({"--data", "photos"});
  folder.resolve(folder.data, Recipe::paper);
  plain.resolve(plain.data, Recipe::none);
  EXPECT_EQ(folder.set.to_json(), plain.set.to_json());
}

TEST(Recipes, QuickIsWhatWasFoundBest) {
  OptionsFixture clothes({"--data", "fashion-mnist:PATH"});
  clothes.resolve(clothes.data, Recipe::quick);
  EXPECT_EQ(clothes.options.network, network::Network::unet);
  EXPECT_EQ(clothes.options.width, 32);
  EXPECT_EQ(clothes.options.levels, 3);
  EXPECT_EQ(clothes.now("pad"), 0) << "28x28 images as they are";
  EXPECT_EQ(clothes.options.bowl, 0);
  EXPECT_EQ(clothes.options.schedule.steps, 5000);
  EXPECT_EQ(clothes.options.schedule.lr, 2e-3);
  EXPECT_EQ(clothes.options.schedule.warmup, 300);
  EXPECT_EQ(clothes.now("weight-power"), 1);

  OptionsFixture folder({"--data", "photos"});
  folder.resolve(folder.data, Recipe::quick);
  EXPECT_EQ(folder.options.network, network::Network::unet);
  EXPECT_EQ(folder.options.bowl, 0);
  EXPECT_EQ(folder.now("sigma-min"), 0.05);
  EXPECT_FALSE(folder.flip);
}

TEST(Recipes, QuickGivesWayAndFitsWhatWasGiven) {
  OptionsFixture f({"--data", "photos", "--net", "res12", "--steps", "200", "--lr", "1e-4"});
  f.resolve(f.data, Recipe::quick);
  EXPECT_EQ(f.options.network, network::Network::res12);
  EXPECT_EQ(f.options.bowl, 1) << "the paper's networks need it at these rates";
  EXPECT_EQ(f.options.schedule.steps, 200);
  EXPECT_EQ(f.options.schedule.warmup, 20) << "a tenth of a short run";
  EXPECT_EQ(f.options.schedule.lr, 1e-4);
  OptionsFixture linear({"--data", "photos", "--head", "linear"});
  linear.resolve(linear.data, Recipe::quick);
  EXPECT_EQ(linear.options.network, network::Network::res12) << "unet has no such head";
  OptionsFixture unet({"--data", "stacked-mnist", "--net", "unet"});
  unet.resolve(unet.data, Recipe::quick);
  EXPECT_EQ(unet.options.bowl, 0);
  EXPECT_EQ(unet.options.schedule.steps, 6000) << "a U-Net for all other images";
  OptionsFixture deep({"--data", "mnist", "--levels", "4", "--pad", "32"});
  deep.resolve(deep.data, Recipe::quick);
  EXPECT_EQ(deep.options.levels, 4);
  EXPECT_EQ(deep.now("pad"), 32);
}

TEST(Recipes, QuickHasRowsForThePapersNetworks) {
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{"--net", "res12"}, {"--bowl", "1"}, {"--head", "quadratic"}}) {
    std::vector<std::string> words{"--data", "fashion-mnist"};
    words.insert(words.end(), asked.begin(), asked.end());
    OptionsFixture f(words);
    f.resolve(f.data, Recipe::quick);
    EXPECT_EQ(f.options.network, network::Network::res12) << asked.front();
    EXPECT_EQ(f.options.width, 16);
    EXPECT_EQ(f.now("pad"), -1) << "28x28 images to 32";
    EXPECT_EQ(f.options.bowl, 1);
    EXPECT_EQ(f.options.batch, 64);
    EXPECT_EQ(f.options.schedule.steps, 13000);
  }
  OptionsFixture deeper({"--data", "mnist", "--net", "res18"});
  deeper.resolve(deeper.data, Recipe::quick);
  EXPECT_EQ(deeper.options.network, network::Network::res18);
  EXPECT_EQ(deeper.options.schedule.lr, 1.5e-3);
  OptionsFixture from_model({"--data", "mnist"});
  apply_recipe(from_model.set, Recipe::quick, Preset::none, "mnist", network::Network::res12);
  EXPECT_EQ(from_model.now("pad"), -1);
}

TEST(Presets, LeaveAloneWhatTheUserGave) {
  OptionsFixture f({"--preset", "mnist", "--width", "16", "--sigma-max", "2"});
  f.resolve(f.data, Recipe::paper);
  EXPECT_EQ(f.options.width, 16);
  EXPECT_EQ(f.now("sigma-max"), 2);
  EXPECT_EQ(f.now("sigma-min"), 0.1);
}

TEST(Presets, ADataSetsNameAloneChoosesItsNoise) {
  OptionsFixture f({"--data", "cifar10"});
  f.resolve(f.data);
  EXPECT_EQ(f.now("noise"), "linear");
  EXPECT_EQ(f.options.network, network::Network::res12);
}

TEST(Presets, SigmaBelongsToSingleNoise) {
  OptionsFixture wrong({"--sigma", "0.6"});
  EXPECT_THROW(wrong.resolve(""), Error);
  OptionsFixture mixed({"--noise", "single", "--sigma-min", "0.6"});
  EXPECT_THROW(mixed.resolve(""), Error);
  OptionsFixture right({"--noise", "single", "--sigma", "0.6"});
  EXPECT_NO_THROW(right.resolve("mnist"));
  EXPECT_EQ(right.now("noise"), "single");
}

// Previews of an objective without noise levels of its own have those of the data set.
TEST(Presets, SayTheNoiseOfADataSet) {
  EXPECT_EQ(preset_noise(Preset::none, "cifar10:folder").kind, NoiseKind::linear);
  EXPECT_EQ(preset_noise(Preset::celeba, "faces").sigma_max, 1.2);
  EXPECT_EQ(preset_noise(Preset::none, "faces.npy").kind, NoiseKind::geometric);
  OptionsFixture f({"--data", "cifar10", "--objective", "ml"});
  f.resolve(f.data);
  EXPECT_EQ(f.now("noise"), "linear");  // as options.json of such runs always had it
}

TEST(Resume, TakesTheRecordedOptionsAndAllowsAFewChanges) {
  const json recorded =
      OptionsFixture({"--data", "d", "--width", "8", "--lr", "0.003", "--seed", "3"}).set.to_json();
  OptionsFixture f({"--lr", "1e-4", "--width", "8", "--clip", "1"});
  f.resume(recorded);
  EXPECT_EQ(f.data, "d");
  EXPECT_EQ(f.options.width, 8);
  EXPECT_EQ(f.options.seed, 3);
  EXPECT_EQ(f.options.schedule.lr, 1e-4);
  EXPECT_EQ(f.options.clip, 1);
  EXPECT_EQ(hash_of(f.set.to_json()), hash_of(recorded));
}

TEST(Resume, MaySwitchExactOnAndOff) {
  const json with = OptionsFixture({"--data", "d", "--exact"}).set.to_json(),
             without = OptionsFixture({"--data", "d"}).set.to_json();
  json from_before = without;  // of a program that had no such option
  from_before.erase("exact");
  const auto resumed = [](std::vector<std::string> arguments, const json& recorded) {
    OptionsFixture f(std::move(arguments));
    f.resume(recorded);
    EXPECT_EQ(hash_of(f.set.to_json()), hash_of(recorded));
    return f.exact;
  };
  EXPECT_TRUE(resumed({}, with));
  EXPECT_FALSE(resumed({"--no-exact"}, with));
  EXPECT_TRUE(resumed({"--exact"}, without));
  EXPECT_FALSE(resumed({}, from_before));
}

// The options of a run of the first version, with the fingerprint that it wrote into its state.
TEST(Resume, RunsFromBeforeTheNewOptionsKeepTheirFingerprint) {
  json run =
      json::parse(R"({"batch": 8, "beta1": 0.9, "beta2": 0.95, "clip": 0.0, "colour": "keep", "crop": 0,
      "data": "im.npy", "desc": "", "device": "cpu", "ema": 0.999, "engine": "native", "exact": false,
      "flip": false, "head": "quadratic", "limit": 0, "lr": 0.001, "lr-final": 1e-06, "lr-schedule": "cosine",
      "micro-batch": 0, "net": "res6", "noise": "geometric", "outdir": "old", "pad": -1, "preset": "none",
      "preview-every": 0, "resize": 0, "save-every": 2, "seed": 3, "sigma": 0.3, "sigma-max": 3.0,
      "sigma-min": 0.1, "sigma0": 0.1, "snapshot-every": 0, "split": "train", "stats-every": 3, "steps": 8,
      "threads": 1, "warmup": 0, "weight-power": 2.0, "width": 4})");
  const std::string fingerprint = "6cfc48bae6f36125";
  EXPECT_EQ(hash_of(run), fingerprint);
  json renamed = run;  // what was --out is --out
  renamed["out"] = renamed.at("outdir");
  renamed.erase("outdir");
  EXPECT_EQ(hash_of(renamed), fingerprint);
  const json defaults = OptionsFixture({}).defaults;
  for (const auto& [name, value] : defaults.items())
    if (!run.contains(name)) run[name] = value;
  ASSERT_TRUE(run.contains("objective"));
  EXPECT_EQ(hash_of(run), fingerprint);
  run["objective"] = "ml";
  EXPECT_NE(hash_of(run), fingerprint);
  run["objective"] = "mdsm";
  run["width"] = 8;  // by default or not, an option of the first version counts
  EXPECT_NE(hash_of(run), fingerprint);
}

TEST(Resume, ARunFromBeforeHasTheDefaultsOfNewOptions) {
  json before = OptionsFixture({"--data", "d"}).set.to_json();
  for (const char* name : {"objective", "importance", "ml-eps", "ml-chains", "bowl"}) before.erase(name);
  OptionsFixture same({"--objective", "mdsm"});
  same.resume(before);
  EXPECT_EQ(hash_of(same.set.to_json()), hash_of(before));
  OptionsFixture other({"--objective", "ml"});
  EXPECT_THROW(other.resume(before), Error);
  OptionsFixture stray({"--ml-eps", "0.2"});
  EXPECT_THROW(stray.resume(before), Error);
}

TEST(Shards, AreTwoFrom64ImagesOnUnlessGiven) {
  const auto shards_of = [](std::vector<std::string> arguments) {
    OptionsFixture f(std::move(arguments));
    f.resolve("");
    validate(f.options);
    return f.options.shards;
  };
  EXPECT_EQ(shards_of({"--batch", "63"}), 1);
  EXPECT_EQ(shards_of({"--batch", "64"}), 2);
  EXPECT_EQ(shards_of({}), 2);
  EXPECT_EQ(shards_of({"--shards", "1"}), 1);
  EXPECT_EQ(shards_of({"--batch", "8", "--shards", "8"}), 8);
  EXPECT_THROW(shards_of({"--shards", "3"}), Error);
  EXPECT_THROW(shards_of({"--batch", "8", "--shards", "16"}), Error);
}

TEST(Shards, StayAsTheyAreOnResume) {
  OptionsFixture started({"--data", "d"});
  started.resolve("d");
  const json two = started.set.to_json();
  ASSERT_EQ(two.at("shards"), 2);
  json before = two;  // a run of a program that had no such option was one shard
  before.erase("shards");
  EXPECT_NE(hash_of(two), hash_of(before));
  const auto resumed = [](std::vector<std::string> arguments, const json& recorded) {
    OptionsFixture f(std::move(arguments));
    f.resume(recorded);
    EXPECT_EQ(hash_of(f.set.to_json()), hash_of(recorded));
    return f.options.shards;
  };
  EXPECT_EQ(resumed({}, two), 2);
  EXPECT_EQ(resumed({"--shards", "2"}, two), 2);
  EXPECT_THROW(resumed({"--shards", "4"}, two), Error);
  EXPECT_EQ(resumed({}, before), 1);
  EXPECT_EQ(resumed({"--shards", "1"}, before), 1);
  EXPECT_THROW(resumed({"--shards", "2"}, before), Error);
}

TEST(Objectives, SingleTakesItsLevelAsTheKernel) {
  OptionsFixture f({"--objective", "single", "--sigma", "0.6"});
  f.resolve("mnist");
  EXPECT_EQ(f.now("noise"), "single");
  EXPECT_EQ(f.options.sigma0, 0.6);
  for (const float level : noise_levels(f.objectives.chosen().preview_noise({}), 5)) EXPECT_EQ(level, 0.6f);
  OptionsFixture given({"--objective", "single", "--sigma", "0.6", "--sigma0", "0.1"});
  given.resolve("");
  EXPECT_EQ(given.options.sigma0, 0.1);
}

TEST(Objectives, TheRateIsHeldWhileADenoiserIsTrained) {
  OptionsFixture f({"--net", "unet", "--denoiser-steps", "70"});
  f.resolve("");
  EXPECT_EQ(f.options.schedule.hold, 70);
  OptionsFixture given({"--net", "unet", "--denoiser-steps", "70", "--lr-hold", "20"});
  given.resolve("");
  EXPECT_EQ(given.options.schedule.hold, 20);
}

TEST(Objectives, RefuseWhatMeansNothingToThem) {
  const std::vector<std::vector<std::string>> wrong = {{"--objective", "single", "--sigma-min", "0.1"},
                                                       {"--objective", "single", "--noise", "linear"},
                                                       {"--objective", "ml", "--noise", "linear"},
                                                       {"--objective", "ml", "--importance", "batch"},
                                                       {"--ml-steps", "10"},
                                                       {"--objective", "ml", "--sigma", "0.3"}};
  for (const auto& arguments : wrong) {
    OptionsFixture f(arguments);
    EXPECT_THROW(f.resolve(""), Error) << arguments.back();
  }
  OptionsFixture small({"--objective", "ml", "--ml-buffer", "100"});
  EXPECT_THROW(small.objectives.chosen().validate(small.options), Error);
  OptionsFixture noise({"--objective", "ml", "--ml-buffer", "100", "--ml-chains", "noise"});
  EXPECT_NO_THROW(noise.objectives.chosen().validate(noise.options));
}

TEST(Resume, RefusesOtherChangesByName) {
  const json recorded = OptionsFixture({"--data", "d", "--width", "8"}).set.to_json();
  OptionsFixture f({"--width", "16"});
  try {
    f.resume(recorded);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("--width"), std::string::npos);
  }
  EXPECT_NE(hash_of(f.set.to_json()), hash_of(recorded));
}

TEST(MakeSpec, SaysHowToFitTheImages) {
  TrainOptions options;
  EXPECT_EQ(make_spec(options, {1, 3, 64, 64}).channels, 3);
  for (const Shape& shape : {Shape{1, 1, 28, 28}, Shape{1, 3, 32, 64}, Shape{1, 1, 4, 4}}) try {
      make_spec(options, shape);
      ADD_FAILURE() << shape.text();
    } catch (const Error& error) {
      EXPECT_NE(error.hint().find("--pad"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace mdsm::train
