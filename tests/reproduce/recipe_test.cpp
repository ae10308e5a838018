#include "reproduce/recipe.h"

#include <gtest/gtest.h>

#include "reproduce/runner.h"
#include "temporary_folder.h"

namespace mdsm::reproduce {
namespace {

constexpr const char* kGood = R"({
  // a comment
  "title": "T", "about": "A", "needs": ["other"], "data": ["mnist"],
  "scales": {"smoke": {"n": 16, "lr": 1e-3, "sampler": "fast"}},
  "steps": [{"name": "one", "run": "sample  --n {n}\n--out {here}", "resume": "sample --resume"}],
  "results": [{"label": "L", "value": "one.out#/a/0", "error": "one.out#/b", "paper": "3.1", "digits": 1}],
  "figures": [{"file": "one/grid.png", "caption": "C"}]})";

class RecipeTest : public testing::Test {
 protected:
  std::string error_in(const std::string& text) {
    put(folder_ / "r.json", text);
    return error_of([&] { read_recipe(folder_ / "r.json"); });
  }
  Recipe read(const std::string& name, const std::string& text) {
    put(folder_ / (name + ".json"), text);
    return read_recipe(folder_ / (name + ".json"));
  }
  TemporaryFolder folder_;
};

TEST_F(RecipeTest, ReadsEverything) {
  const Recipe recipe = read("name", kGood);
  EXPECT_EQ(recipe.name, "name");
  EXPECT_EQ(recipe.title, "T");
  EXPECT_EQ(recipe.needs, std::vector<std::string>{"other"});
  EXPECT_EQ(recipe.data, std::vector<std::string>{"mnist"});
  EXPECT_EQ(recipe.scales.at(Scale::smoke).at("n"), "16");
  EXPECT_EQ(recipe.scales.at(Scale::smoke).at("sampler"), "fast");
  ASSERT_EQ(recipe.steps.size(), 1u);
  EXPECT_EQ(recipe.steps[0].words, (std::vector<std::string>{"sample", "--n", "{n}", "--out", "{here}"}));
  EXPECT_EQ(recipe.steps[0].resume, (std::vector<std::string>{"sample", "--resume"}));
  EXPECT_EQ(recipe.results[0].digits, 1);
  EXPECT_EQ(recipe.figures[0].caption, "C");
}

TEST_F(RecipeTest, RefusesMistakes) {
  const std::pair<const char*, const char*> rows[] = {
      {"{", "not JSON"},
      {"[]", "not an object"},
      {"{}", "\"title\" must be text"},
      {R"({"title": 3})", "\"title\" must be text"},
      {R"({"title": "t", "stepps": []})", "unknown key \"stepps\""},
      {R"({"title": "t", "needs": "x"})", "\"needs\" must be a list"},
      {R"({"title": "t", "scales": {"huge": {}}})", "unknown key \"huge\""},
      {R"({"title": "t", "scales": {"smoke": {"n": [1]}}})", "n of scale smoke must be a number or text"},
      {R"({"title": "t", "steps": [{"name": "a"}]})", "\"run\" must be text"},
      {R"({"title": "t", "steps": [{"name": "a", "run": " "}]})", "nothing to run"},
      {R"({"title": "t", "steps": [{"name": "../a", "run": "x"}]})", "cannot name a folder"},
      {R"({"title": "t", "steps": [{"name": "a", "run": "x"}, {"name": "a", "run": "y"}]})",
       "a second step a"},
      {R"({"title": "t", "results": [{"label": "l", "value": "file"}]})", "file is not FILE#/pointer"},
      {R"({"title": "t", "results": [{"label": "l", "value": "f#/a~3"}]})", "is not FILE#/pointer"},
      {R"({"title": "t", "results": [{"label": "l", "value": "f#/a", "digits": 99}]})",
       "digits must be 0 to 12"}};
  for (const auto& [text, message] : rows)
    EXPECT_NE(error_in(text).find(message), std::string::npos) << text << "\n" << error_in(text);
}

TEST_F(RecipeTest, NeedsComeFirstAndOnce) {
  std::map<std::string, Recipe> recipes;
  for (const auto& [name, needs] : std::map<std::string, std::string>{
           {"a", R"(["c"])"}, {"b", R"(["c", "a"])"}, {"c", "[]"}, {"x", R"(["y"])"}, {"y", R"(["x"])"}})
    recipes.emplace(name, read(name, fmt::format(R"({{"title": "t", "needs": {}}})", needs)));
  std::string order;
  for (const Recipe* recipe : in_order(recipes, {"b", "a"})) order += recipe->name;
  EXPECT_EQ(order, "cab");
  EXPECT_NE(error_of([&] { in_order(recipes, {"x"}); }).find("needs itself"), std::string::npos);
  EXPECT_NE(error_of([&] { in_order(recipes, {"z"}); }).find("no recipe z; there are all, a, b, c"),
            std::string::npos);
}

TEST_F(RecipeTest, VariablesStandForTheirValues) {
  const Recipe recipe = read("name", kGood);
  ReproduceOptions options;
  options.out = folder_ / "out";
  options.settings["n"] = "7";
  options.data = {{"mnist", "mnist:/there"}};
  const Variables variables(options, recipe, "one");
  const std::string out = options.out.string();
  EXPECT_EQ(variables.expand("{n}+{sampler}"), "7+fast");
  EXPECT_EQ(variables.expand("{here}"), out + "/name/one");
  EXPECT_EQ(variables.expand("{@one}/x"), out + "/name/one/x");
  EXPECT_EQ(variables.expand("{@other/train}"), out + "/other/train");
  EXPECT_EQ(variables.expand("{data:mnist}"), "mnist:/there");
  EXPECT_EQ(variables.expand("{data:stacked-mnist}"), "stacked-mnist:/there");  // made from it
  EXPECT_EQ(variables.expand("{model:one}"), "");
  put(options.out / "name/one/00000-run/options.json", "{}");
  EXPECT_EQ(variables.expand("{model:one}"), out + "/name/one/00000-run");
  EXPECT_EQ(variables.expand("no { brace"), "no { brace");
  EXPECT_NE(error_of([&] { variables.expand("{none}"); }).find("{none} has no value at scale smoke"),
            std::string::npos);
}

TEST_F(RecipeTest, NumbersOfResults) {
  const Recipe recipe = read("name", kGood);
  ReproduceOptions options;
  options.out = folder_ / "out";
  put(options.out / "name/one.out", R"({"a": [2.5, "x"], "b": {"c": null}})");
  put(options.out / "name/s.jsonl", "{\"loss\": 1}\n{\"loss\": 2}\n");
  put(options.out / "name/bad.out", "oops");
  const auto number = [&](const char* reference) { return result_number(recipe, options, reference); };
  EXPECT_EQ(number("one.out#/a/0"), 2.5);
  EXPECT_EQ(number("s.jsonl#/loss"), 2);  // the last line
  for (const char* none : {"one.out#/a/1", "one.out#/a/9", "one.out#/b/c", "no.out#/a", "bad.out#/a"})
    EXPECT_EQ(number(none), std::nullopt) << none;
}

TEST(CommandText, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(command_text({"train", "--data", "a b", "it's", "", "x=1e-3"}),
            "mdsm train --data 'a b' 'it'\\''s' '' x=1e-3");
}

}  // namespace
}  // namespace mdsm::reproduce
