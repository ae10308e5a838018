#include "core/seeds.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace mdsm {
namespace {

using List = std::vector<uint64_t>;

TEST(Seeds, NumbersAndRanges) {
  EXPECT_EQ(parse_seeds("7", "--seeds"), (List{7}));
  EXPECT_EQ(parse_seeds("0-3,9,5-5", "--seeds"), (List{0, 1, 2, 3, 9, 5}));
  EXPECT_EQ(parse_seeds("9000000000000000", "--seeds"), (List{9'000'000'000'000'000}));
}

TEST(Seeds, TextGoesBothWays) {
  for (const char* text : {"0-63,70", "5", "3,1,2", "0-9", "7-8,10-12,1"})
    EXPECT_EQ(seeds_text(parse_seeds(text, "--seeds")), std::string(text) == "3,1,2" ? "3,1-2" : text);
  EXPECT_EQ(seeds_text({}), "");
}

TEST(Seeds, NonsenseIsAUsageError) {
  for (const char* text : {"", ",", "1,", "a", "-1", "1-", "3-1", "1,1", "0-5,3", "1.5", " 1",
                           "0-99999999999", "99999999999999999999", "9000000000000001"}) {
    try {
      parse_seeds(text, "--seeds");
      ADD_FAILURE() << "'" << text << "' passed";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage) << text;
      EXPECT_NE(error.message().find("--seeds"), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace mdsm
