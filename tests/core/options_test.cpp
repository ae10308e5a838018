#include "core/options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"

namespace mdsm {
namespace {

using Words = std::vector<std::string>;
using nlohmann::json;

// One option of each kind, as a command would declare them.
class Options : public ::testing::Test {
 protected:
  Options() : options_("train", "Train a model") {
    options_.group("Network").add("width", width_, "channels").range(4, 4096);
    options_.add("lr", lr_, "learning rate").above(0);
    options_.add("net", net_, "network").choices({"res6", "res12"});
    options_.add("flip", flip_, "flip images");
    options_.add("tag", tags_, "words");
    options_.add("secret", secret_, "not saved").command_line_only();
    options_.add("input", input_, "file to read").meta("INPUT").positional();
    options_.add("more", more_, "more files").meta("MORE...").positional();
    options_.accept_config();
  }
  void parse(const Words& words) { options_.parse(words); }
  std::string error_of(const Words& words) {
    try {
      options_.parse(words);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    ADD_FAILURE() << "no error for " << fmt::format("{}", fmt::join(words, " "));
    return "";
  }
  void refuses(const Words& words, const char* part) {
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, error_of(words));
  }
  std::string config(const std::string& name, const std::string& text) {
    const fs::path path = fs::temp_directory_path() / fmt::format("mdsm_options_{}_{}", ::getpid(), name);
    write_file(path, text);
    files_.push_back(path);
    return path.string();
  }
  ~Options() override {
    for (const fs::path& path : files_) fs::remove(path);
  }

  int64_t width_ = 64;
  double lr_ = 1e-3;
  std::string net_ = "res12", input_, secret_;
  bool flip_ = false;
  Words tags_ = {"first"}, more_;
  std::vector<fs::path> files_;
  OptionSet options_;
};

TEST_F(Options, EveryKindOfValue) {
  parse({"--width", "16", "--lr=5e-5", "--net", "res6", "--flip", "--tag", "a", "--tag=b"});
  EXPECT_EQ(width_, 16);
  EXPECT_EQ(lr_, 5e-5);
  EXPECT_EQ(net_, "res6");
  EXPECT_TRUE(flip_);
  EXPECT_EQ(tags_, (Words{"a", "b"}));
  EXPECT_TRUE(options_.given("width"));
  EXPECT_FALSE(options_.given("input"));
}

TEST_F(Options, NothingGivenKeepsTheDefaults) {
  parse({});
  EXPECT_EQ(width_, 64);
  EXPECT_EQ(tags_, Words{"first"});
  EXPECT_TRUE(options_.given_names().empty());
}

TEST_F(Options, WholeNumbersAsPeopleWriteThem) {
  parse({"--width", "1e3"});
  EXPECT_EQ(width_, 1000);
  for (const char* bad : {"1.5", "x", "", "16x", "nan", "inf", "1e300", "99999999999999999999", " 16"})
    refuses({"--width", bad}, "it takes a whole number");
  EXPECT_EQ(width_, 1000);
}

TEST_F(Options, RangesIncludeTheirEnds) {
  parse({"--width", "4"});
  parse({"--width", "4096"});
  refuses({"--width", "3"}, "'3' is not a valid value; it must be 4 to 4096");
  refuses({"--width", "4097"}, "'4097'");
  refuses({"--width", "-8"}, "'-8'");
  refuses({"--width", "12345678"}, "'12345678'");
  refuses({"--lr", "0"}, "it must be above 0");
  parse({"--lr", "1e-12"});
}

TEST_F(Options, NumbersMustBeFinite) {
  for (const char* bad : {"nan", "inf", "-inf", "NAN", "infinity"}) refuses({"--lr", bad}, "--lr");
  for (const char* bad : {"", "abc", "1,5", "0x10", "1e999"}) refuses({"--lr", bad}, "it takes a number");
  EXPECT_EQ(lr_, 1e-3);
}

TEST_F(Options, Choices) { refuses({"--net", "res7"}, "choose one of res6, res12"); }

TEST_F(Options, Switches) {
  parse({"--flip=yes"});
  EXPECT_TRUE(flip_);
  parse({"--no-flip"});
  EXPECT_FALSE(flip_);
  parse({"--no-flip=no"});
  EXPECT_TRUE(flip_);
  parse({"--no-flip=yes"});
  EXPECT_FALSE(flip_);
  refuses({"--flip=maybe"}, "use true or false");
  refuses({"--no-flip=maybe"}, "use true or false");
  refuses({"--no-width"}, "only switches can be negated");
}

TEST_F(Options, UnknownOptionsGetASuggestion) {
  refuses({"--widht", "3"}, "did you mean --width?");
  refuses({"--wdth=3"}, "did you mean --width?");
  refuses({"--zzzzzz"}, "mdsm train --help");
  refuses({"--no-such"}, "'no-such'");
  refuses({"--set", "widht=3"}, "did you mean width?");
}

TEST_F(Options, MissingValue) { refuses({"--width"}, "--width needs a value; write --width INT"); }

TEST_F(Options, Positionals) {
  parse({"in", "--width", "8", "a", "--", "--b"});
  EXPECT_EQ(input_, "in");
  EXPECT_EQ(more_, (Words{"a", "--b"}));
  EXPECT_EQ(width_, 8);
  refuses({"--input", "x"}, "give INPUT by its place");
  OptionSet none("none", "takes nothing");
  const Words word = {"x"};
  EXPECT_THROW(none.parse(word), Error);
}

TEST_F(Options, Required) {
  std::string model;
  OptionSet options("energy", "Energies");
  options.add("model", model, "model file").meta("FILE").required();
  EXPECT_THROW(options.parse(Words{}), Error);
  EXPECT_NO_THROW(options.parse(Words{"--model", "m"}));
}

TEST_F(Options, TomlConfigWithSections) {
  const std::string file =
      config("a.toml", "width = 32\nlr = 0.01\nflip = true\ntag = ['x', 'y']\n[network]\nnet = 'res6'\n");
  parse({"--width", "8", "--config", file});
  EXPECT_EQ(width_, 8) << "the command line wins wherever it stands";
  EXPECT_EQ(lr_, 0.01);
  EXPECT_TRUE(flip_);
  EXPECT_EQ(net_, "res6");
  EXPECT_EQ(tags_, (Words{"x", "y"}));
  EXPECT_TRUE(options_.given("lr"));
}

TEST_F(Options, JsonConfigAndLists) {
  parse({"--config", config("a.json", R"({"width": 32, "tag": [], "net": {"net": "res6"}, "lr": null})")});
  EXPECT_EQ(width_, 32);
  EXPECT_TRUE(tags_.empty());
  EXPECT_EQ(net_, "res6");
  parse({"--config", config("b.json", R"({"tag": ["x", "y"]})"), "--tag", "z"});
  EXPECT_EQ(tags_, Words{"z"}) << "a list on the command line replaces that of the file";
}

TEST_F(Options, LaterConfigFilesWin) {
  parse({"--config", config("1.json", R"({"width": 8, "lr": 0.5})"), "--config",
         config("2.json", R"({"width": 16})")});
  EXPECT_EQ(width_, 16);
  EXPECT_EQ(lr_, 0.5);
}

TEST_F(Options, BadConfigFiles) {
  const auto bad = [&](const std::string& name, const std::string& text, const char* part) {
    refuses({"--config", config(name, text)}, part);
  };
  bad("a.json", R"({"widht": 3})", "did you mean width?");
  bad("a.json", R"({"width": [4, 8]})", "'width' is given a list");
  bad("a.json", R"({"width": 1})", "it must be 4 to 4096");
  bad("a.json", R"({"width": "wide"})", "whole number");
  bad("a.json", R"({"secret": "x"})", "'secret' is not a configuration key");
  bad("a.json", R"({"input": "x"})", "'input' is not a configuration key");
  bad("a.json", R"({"config": "x"})", "'config' is not a configuration key");
  bad("a.json", R"({"a": {"b": {"width": 8}}})", "a section inside section 'a'");
  bad("a.json", "[1]", "not a table of options");
  bad("a.json", "{", "not valid JSON");
  bad("a.json", R"({"a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}", "not valid JSON");
  bad("a.toml", "lr = nan\n", "it takes a number");
  bad("a.toml", "lr = inf\n", "it takes a number");
  bad("a.toml", "lr = 1979-05-27\n", "a value of a kind that no option takes");
  bad("a.toml", "width = 8\nwidth = 9\n", "line 2");
  bad("a.toml", "width 8\n", "line 1");
  EXPECT_THROW(parse({"--config", "/nonexistent.toml"}), Error);
}

TEST_F(Options, SetByKey) {
  parse({"--set", "width=8", "--set", "lr=0.5", "--set", "net=res6"});
  EXPECT_EQ(width_, 8);
  EXPECT_EQ(lr_, 0.5);
  EXPECT_EQ(net_, "res6");
  refuses({"--set", "width"}, "has no '='");
  refuses({"--set", "secret=x"}, "not a configuration key");
  refuses({"--set", "width=1"}, "4 to 4096");
}

TEST_F(Options, TheLastOnTheCommandLineWins) {
  parse({"--width", "8", "--width", "12"});
  EXPECT_EQ(width_, 12);
  parse({"--set", "width=16", "--width", "20"});
  EXPECT_EQ(width_, 20);
  parse({"--width", "20", "--set", "width=24"});
  EXPECT_EQ(width_, 24);
}

TEST_F(Options, PresetsGiveWayToTheUser) {
  parse({"--width", "8"});
  options_.set_default("width", "128");
  options_.set_default("lr", "0.25");
  EXPECT_EQ(width_, 8);
  EXPECT_EQ(lr_, 0.25);
  EXPECT_FALSE(options_.given("lr"));
  options_.set_default("lr", "0.125");
  EXPECT_EQ(lr_, 0.125);
  EXPECT_THROW(options_.set_default("nothing", "1"), Error);
}

TEST_F(Options, SavedOptionsComeBack) {
  parse({"--width", "8", "--lr", "0.1", "--flip", "--tag", "a b", "--secret", "s", "file"});
  const json saved = options_.to_json();
  EXPECT_EQ(saved, (json{{"width", 8}, {"lr", 0.1}, {"net", "res12"}, {"flip", true}, {"tag", {"a b"}}}));
  width_ = 0, lr_ = 0, flip_ = false, tags_ = {"x", "y"};
  options_.from_json(saved, "options.json");
  EXPECT_EQ(options_.to_json(), saved);
}

TEST_F(Options, HelpAndReferenceNameEveryOption) {
  for (const std::string& text : {options_.help(), options_.markdown()})
    for (const char* part : {"--width", "--lr", "--net", "res6", "--flip", "--tag", "--config", "INPUT"})
      EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, text);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "(4 to 4096)", options_.markdown());
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "res6\\|res12", options_.markdown());
}

enum class Fruit { apple, pear };
constexpr auto enum_names(Fruit) { return names_of<Fruit>({{Fruit::apple, "apple"}, {Fruit::pear, "pear"}}); }

TEST(OptionKinds, EnumsAreGivenByName) {
  Fruit fruit = Fruit::apple;
  OptionSet options("eat", "");
  options.add("fruit", fruit, "what to eat");
  EXPECT_NE(options.help().find("apple|pear"), std::string::npos);
  EXPECT_EQ(options.to_json()["fruit"], "apple");
  options.parse(std::vector<std::string>{"--fruit", "pear"});
  EXPECT_EQ(fruit, Fruit::pear);
  EXPECT_EQ(options.to_json()["fruit"], "pear");
  EXPECT_THROW(options.parse(std::vector<std::string>{"--fruit", "plum"}), Error);
}

// Two alternatives share one option, each with a variable, a default and a meaning of its own.
struct Alternatives {
  std::string way = "slow";
  int64_t slow_steps = 100, fast_steps = 10;
  double patience = 1;
  OptionSet options{"go", ""};
  Alternatives() {
    options.add("way", way, "how").choices({"slow", "fast"});
    options.alternative("way", "slow");
    options.add("steps", slow_steps, "steps of the walk").range(1, 1000);
    options.add("patience", patience, "how long to wait");
    options.alternative("way", "fast");
    options.add("steps", fast_steps, "jumps");
    options.common();
  }
};

TEST(OptionKinds, AlternativesHaveOptionsOfTheirOwn) {
  Alternatives go;
  const std::string help = go.options.help();
  EXPECT_NE(help.find("slow: steps of the walk; fast: jumps [100 (fast 10)]"), std::string::npos) << help;
  EXPECT_NE(help.find("slow: how long to wait [1]"), std::string::npos) << help;
  go.options.parse(std::vector<std::string>{"--way", "fast"});
  go.options.choose(go.way);
  EXPECT_EQ(go.options.to_json()["steps"], 10);
  EXPECT_EQ(go.options.chosen_json(), (nlohmann::json{{"steps", 10}}));
}

TEST(OptionKinds, WhatAnotherAlternativeHasIsRefused) {
  Alternatives go;
  go.options.parse(std::vector<std::string>{"--way", "fast", "--patience", "2", "--steps", "7"});
  try {
    go.options.choose(go.way);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--patience has no meaning for --way fast; leave it out, or use --way slow");
  }
  EXPECT_EQ(go.fast_steps, 7);
  EXPECT_THROW(go.options.parse(std::vector<std::string>{"--steps", "2000"}), Error);
}

// Names of before and other spellings.
struct Renamed {
  int64_t subset = 0;
  std::string colour = "keep";
  bool worker = false;
  OptionSet options{"measure", "Measure"};
  Renamed() {
    options.add("subset", subset, "random images").range(0).formerly("limit");
    options.add("colour", colour, "colours")
        .choices({"keep", "grey"})
        .alias("color")
        .value_alias("gray", "grey");
    options.add("worker", worker, "for ourselves").command_line_only().hidden();
    options.accept_config();
  }
};

TEST(OptionNames, FormerNamesWorkAndSayTheNewOne) {
  Renamed one;
  ::testing::internal::CaptureStderr();
  one.options.parse(std::vector<std::string>{"--limit", "7"});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(one.subset, 7);
  EXPECT_TRUE(one.options.given("subset"));
  EXPECT_TRUE(one.options.given("limit"));
  EXPECT_NE(said.find("--limit is called --subset now"), std::string::npos) << said;
  one.options.set("limit", "8");
  EXPECT_EQ(one.subset, 8);
  EXPECT_EQ(one.options.to_json(), (json{{"subset", 8}, {"colour", "keep"}}));
  EXPECT_THROW(one.options.parse(std::vector<std::string>{"--limit", "-1"}), Error);
}

TEST(OptionNames, OtherSpellingsAreSilent) {
  Renamed one;
  ::testing::internal::CaptureStderr();
  one.options.parse(std::vector<std::string>{"--color", "gray"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(one.colour, "grey");
  EXPECT_THROW(one.options.parse(std::vector<std::string>{"--color", "grat"}), Error);
}

TEST(OptionNames, HelpAndReferenceShowOnlyNamesOfToday) {
  Renamed one;
  one.options.parse(std::vector<std::string>{"--worker"});
  EXPECT_TRUE(one.worker);
  for (const std::string& text : {one.options.help(), one.options.markdown()})
    for (const char* name : {"limit", "color ", "gray", "worker"})
      EXPECT_PRED_FORMAT2(::testing::IsNotSubstring, name, text);
}

TEST(OptionNames, RecordedOptionsGetTheNamesOfToday) {
  EXPECT_EQ(Renamed().options.renamed({{"limit", 3}, {"color", "grey"}, {"other", 1}}),
            (json{{"subset", 3}, {"colour", "grey"}, {"other", 1}}));
}

// MDSM_SUBSET for --subset, while it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

TEST(OptionsOfTheEnvironment, AreDefaults) {
  const Environment subset("MDSM_SUBSET", "5"), worker("MDSM_WORKER", "1");
  Renamed one;
  one.options.read_environment();
  EXPECT_EQ(one.subset, 5);
  EXPECT_FALSE(one.worker) << "not a configuration key, so not a variable either";
  EXPECT_FALSE(one.options.given("subset"));
  EXPECT_NE(one.options.help().find("random images [5 from MDSM_SUBSET]"), std::string::npos);
  one.options.set_default("subset", "9");
  EXPECT_EQ(one.subset, 5) << "a recipe gives way";
  one.options.parse(std::vector<std::string>{"--subset", "6"});
  EXPECT_EQ(one.subset, 6) << "the command line wins";
}

TEST(OptionsOfTheEnvironment, BadValuesNameTheVariable) {
  const Environment subset("MDSM_SUBSET", "many"), empty("MDSM_COLOUR", "");
  Renamed one;
  try {
    one.options.read_environment();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "MDSM_SUBSET in the environment: --subset: 'many' is not a valid value; it takes a whole number");
  }
}

TEST(Help, WrapsToTheTerminal) {
  Alternatives go;
  for (const size_t columns : {50u, 60u, 80u}) {
    const std::string help = go.options.help(columns);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << help;
    std::string words = help, whole = go.options.help();
    for (std::string* text : {&words, &whole})
      std::erase_if(*text, [](char c) { return c == ' ' || c == '\n'; });
    EXPECT_EQ(words, whole);
  }
  EXPECT_EQ(go.options.help(0), go.options.help(10'000));
}

}  // namespace
}  // namespace mdsm
