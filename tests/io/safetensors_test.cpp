#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "temporary_folder.h"

namespace mdsm::io {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  return raw(uint64_t{header.size()}) + header + data;
}

class Safetensors : public ::testing::Test {
 protected:
  std::string error_for(const std::string& content) {
    std::ofstream(folder_ / "x.safetensors", std::ios::binary) << content;  // hundreds of times: no fsync
    return error_of([&] { SafetensorsFile file(folder_ / "x.safetensors"); });
  }
  void refuses(const std::string& header, const std::string& data, const char* part) {
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, error_for(file_of(header, data)));
  }
  TemporaryFolder folder_;
};

TEST_F(Safetensors, RoundTripsWithMetadata) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {-0.5f};
  const std::map<std::string, std::string> metadata = {{"format", "mdsm"}, {"text", "ü \"x\"\n"}};
  write_safetensors(folder_ / "x", {{"a", {2, 3}, a}, {"b", {}, b}, {"none", {0, 4}, {}}}, metadata);
  const SafetensorsFile file(folder_ / "x");
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.find("a")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.read(*file.find("a")), a);
  EXPECT_EQ(file.read(*file.find("b")), b);
  EXPECT_TRUE(file.read(*file.find("none")).empty());
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST_F(Safetensors, WritesNothingThatItWouldNotRead) {
  const std::map<std::string, std::string> most = {{"text", std::string(9'999'900, 'x')}},
                                           more = {{"text", std::string(10'000'000, 'x')}};
  write_safetensors(folder_ / "x", {}, most);
  EXPECT_EQ(SafetensorsFile(folder_ / "x").metadata(), most);
  EXPECT_ERROR(write_safetensors(folder_ / "x", {}, more), "10.0 MB at most");
  EXPECT_EQ(SafetensorsFile(folder_ / "x").metadata(), most);  // stays
}

TEST_F(Safetensors, HeaderIsPaddedToEightBytes) {
  for (const char* name : {"a", "ab", "abc", "abcd", "abcde"}) {
    const float value = 1;
    write_safetensors(folder_ / "x", {{name, {1}, std::span(&value, 1)}}, {});
    const std::string text = read_text(folder_ / "x");
    uint64_t length = 0;
    std::memcpy(&length, text.data(), sizeof length);
    EXPECT_EQ(length % 8, 0u);
    EXPECT_EQ(text.size(), 8 + length + 4);
  }
}

TEST_F(Safetensors, StoresHalvesAndRefusesWhatDoesNotFit) {
  const std::vector<float> values = {0.1f, -2.0f, 65504.0f};
  write_safetensors(folder_ / "x", {{"a", {3}, values}}, {}, StoredType::float16);
  const SafetensorsFile file(folder_ / "x");
  EXPECT_EQ(file.entries()[0].dtype, "F16");
  const auto back = file.read(file.entries()[0]);
  EXPECT_NEAR(back[0], 0.1f, 0.1f / 2048);
  EXPECT_EQ(back[1], -2.0f);
  EXPECT_EQ(back[2], 65504.0f);
  const std::vector<float> large = {1e6f};
  EXPECT_ERROR(write_safetensors(folder_ / "y", {{"big", {1}, large}}, {}, StoredType::float16), "'big'");
  EXPECT_FALSE(fs::exists(folder_ / "y"));
}

TEST_F(Safetensors, ReadsOtherTypes) {
  const std::string header =
      R"({"d":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}})";
  write_file(folder_ / "x", file_of(header, raw(2.5) + raw(uint16_t{0x3f80}) + raw(uint16_t{0xc000})));
  const SafetensorsFile file(folder_ / "x");
  EXPECT_EQ(file.read(*file.find("d")), std::vector<float>{2.5f});
  EXPECT_EQ(file.read(*file.find("b")), (std::vector<float>{1.0f, -2.0f}));
}

TEST_F(Safetensors, RefusesBrokenContainers) {
  EXPECT_NE(error_for("abc").find("not a safetensors file"), std::string::npos);
  EXPECT_NE(error_for("").find("empty"), std::string::npos);
  EXPECT_NE(error_for(raw(uint64_t{1000}) + "{}").find("the header needs 1000 bytes"), std::string::npos);
  EXPECT_NE(error_for(raw(~uint64_t{0}) + "{}").find("not a safetensors file"), std::string::npos);
  refuses("{", "", "not a JSON object");
  refuses("[1]", "", "not a JSON object");
  refuses(R"({"a":)" + std::string(1000, '[') + std::string(1000, ']') + "}", "", "nested too deeply");
  refuses(R"({"__metadata__":{"a":1}})", "", "metadata 'a' is not text");
  refuses(R"({"__metadata__":[]})", "", "'__metadata__' is not an object");
  refuses(R"({"__metadata__":{"a":"1","a":"2"}})", "", "'a' twice");
}

TEST_F(Safetensors, RefusesBrokenEntries) {
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  const std::string four(4, '\0'), eight(8, '\0');
  refuses(R"({"a":3})", "", "not a description");
  refuses(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", four, "'dtype' is missing");
  refuses(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", four, "'shape' is missing");
  refuses(R"({"a":{"dtype":"F32","shape":[1]}})", four, "'data_offsets' is missing");
  refuses(entry("I32", "[1]", "[0,4]"), four, "values of type 'I32'");
  refuses(entry("F32", "[-1]", "[0,4]"), four, "holds -1");
  refuses(entry("F32", "[1.5]", "[0,4]"), four, "holds 1.5");
  refuses(entry("F32", "[99999999999999999999]", "[0,4]"), four, "not a size");
  refuses(entry("F32", "[4294967296,4294967296]", "[0,0]"), "", "do not fit");  // 2^64 wraps to 0
  refuses(entry("F32", "[2]", "[0,4]"), four, "4 bytes do not fit");
  refuses(entry("F32", "[1]", "[4,0]"), four, "not a range");
  refuses(entry("F32", "[1]", "[0]"), four, "not a range");
  refuses(entry("F32", "[2]", "[0,8]"), four, "cut short");
  refuses(entry("F32", "[1]", "[4,8]"), eight, "hole or overlaps");
  refuses(entry("F32", "[1]", "[0,4]"), eight, "4 bytes after the last tensor");
  refuses(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      four, "'a' twice");
  refuses(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      four, "hole or overlaps");
}

TEST_F(Safetensors, TruncationIsAlwaysAnError) {
  const std::vector<float> values(40, 1.0f);
  write_safetensors(folder_ / "full", {{"a", {40}, values}}, {{"k", "v"}});
  const std::string whole = read_text(folder_ / "full");
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(error_for(whole.substr(0, size)).empty());
}

}  // namespace
}  // namespace mdsm::io
