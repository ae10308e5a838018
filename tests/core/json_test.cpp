#include "core/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/toml.h"
#include "temporary_folder.h"

namespace mdsm {
namespace {

using nlohmann::json;

std::string repeated(const std::string& piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_TRUE(parse_json(repeated("[", 100) + repeated("]", 100)).is_array());
  for (const char* piece : {"[", "{\"a\":"}) EXPECT_TRUE(parse_json(repeated(piece, 500000)).is_discarded());
  EXPECT_TRUE(
      parse_json("[\"" + repeated("[", 1000) + "\\\"[\"]").is_array());  // in a text they mean nothing
  EXPECT_TRUE(parse_json("").is_discarded());
  EXPECT_TRUE(parse_json("// why\n[1]", true).is_array());
  const std::string deep = repeated("[", 1000) + repeated("]", 1000);
  for (const std::string comment : {"// \"\n", "// x\r", "/* \" */", "/*\"*//*\"*/"}) {
    EXPECT_TRUE(parse_json(comment + deep, true).is_discarded()) << comment;
    EXPECT_TRUE(parse_json(comment + "[1, 2]", true).is_array()) << comment;
  }
  EXPECT_TRUE(parse_json("[1] // " + deep, true).is_array());
  EXPECT_TRUE(parse_json("/* " + deep, true).is_discarded());
}

// In a time that grows with their number, not its square: minutes then.
TEST(ParseJson, StrictlyManyObjects) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += fmt::format("{}\"{}\":{{}}", i ? "," : "", i);
  EXPECT_EQ(parse_strict_json(text + "}", 9).size(), 200000u);
}

TEST(ParseJson, StrictlyWithoutEqualKeysAndLongLists) {
  EXPECT_EQ(parse_strict_json(R"({"a": [1, 2], "b": {"a": 1}})", 2)["a"].size(), 2u);
  EXPECT_THROW(parse_strict_json(R"({"a": 1, "a": 2})", 9), JsonError);
  EXPECT_THROW(parse_strict_json(R"({"a": [{"b": 1, "b": 1}]})", 9), JsonError);
  EXPECT_TRUE(parse_strict_json("{\"a\": 1", 9).is_discarded());
  EXPECT_THROW(parse_strict_json("[1, 2, 3]", 2), JsonError);
  EXPECT_THROW(parse_strict_json("[[], [], []]", 2), JsonError);
  EXPECT_THROW(parse_strict_json(repeated("[", 1000), 2), JsonError);
}

TEST(JsonValue, IsCheckedForItsRange) {
  EXPECT_EQ(json_value<int64_t>(json(-5)), -5);
  EXPECT_EQ(json_value<int64_t>(json(16.0)), 16);
  EXPECT_EQ(json_value<uint64_t>(json(UINT64_MAX)), UINT64_MAX);
  EXPECT_EQ(json_value<std::vector<int>>(json({1, 2})), (std::vector<int>{1, 2}));
  for (const json& bad :
       {json(1e300), json(-1e300), json(1.5), json(UINT64_MAX), json("1"), json(), json(true)})
    EXPECT_THROW(json_value<int64_t>(bad), JsonError) << bad;
  EXPECT_THROW(json_value<uint64_t>(json(-1)), JsonError);
  EXPECT_THROW(json_value<int>(json(1LL << 40)), JsonError);
  EXPECT_THROW(json_value<float>(json(1e300)), JsonError);
  EXPECT_THROW(json_value<double>(json("x")), JsonError);
  EXPECT_THROW(json_value<std::string>(json(1)), JsonError);
  EXPECT_THROW(json_value<std::vector<int>>(json(1)), JsonError);
}

TEST(JsonObject, SaysWhatIsWrongByName) {
  const auto damaged = [](const std::string& what) { fail("", "file: {}", what); };
  const JsonObject object = JsonObject::parse(R"({"n": 1e300, "list": [1, null]})", damaged);
  EXPECT_ERROR(object.get<int64_t>("n"), "file: 'n' is 1e+300, not an integer");
  EXPECT_ERROR(object.get<int64_t>("m"), "'m' is missing");
  EXPECT_EQ(object.get_or<int64_t>("m", 7), 7);
  EXPECT_EQ(object.floats_or_nan("list").size(), 2u);
  EXPECT_ERROR(JsonObject::parse("[]", damaged), "not a JSON object");
}

TEST(JsonText, TakesAnyBytes) {
  EXPECT_FALSE(is_utf8("\xff\xfe"));
  EXPECT_TRUE(is_utf8("ä"));
  EXPECT_NO_THROW(json_text(json("\xff\xfe")));
}

TEST(ParseToml, RefusesEndlessKeys) {
  EXPECT_EQ(parse_toml("a.b = 1.5 # x.y.z\n[c.d]\ne = [0.1, 0.2]\n", "f")["a"]["b"], 1.5);
  EXPECT_EQ(parse_toml("x = \"" + repeated("a.", 1000) + "\"", "f").size(), 1u);
  for (const std::string& text :
       {repeated("a.", 40000) + "a = 1", "[" + repeated("a.", 40000) + "a]",
        repeated("\"=\".", 40000) + "a = 1", "x = {" + repeated("a.", 40000) + "a = 1}",
        "x = \"\"\"\n\"\"\"\n" + repeated("a.", 40000) + "a = 1"})
    EXPECT_ERROR(parse_toml(text, "f"), "dotted parts");
  for (const char* text : {"[=a]", "a = 1\n [[ .b]]", "[\n]"})
    EXPECT_ERROR(parse_toml(text, "f"), "section without a name");
  for (const char* text : {"a = 1\xcf\xa0", "\xff = 1"})
    EXPECT_ERROR(parse_toml(text, "f"), "only a quoted text");
  EXPECT_ERROR(parse_toml("a = 1e\"\xcf\x8c\"", "f"), "a quote in the middle of a word");
  EXPECT_EQ(parse_toml("\xef\xbb\xbf# \xc3\xa9\na = \"\xc3\xa9\"", "f").size(), 1u);
  EXPECT_EQ(parse_toml("x = [\n[+1, 2], # [=\n[{ a = 1 }]]\ny = \"\"\"\n[=\n\"\"\"\n", "f").size(), 2u);
}

}  // namespace
}  // namespace mdsm
