#include "core/base64.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace mdsm {
namespace {

std::string back(std::string_view text) {
  const std::vector<std::byte> bytes = from_base64(text, "test");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Base64, GoesBothWays) {
  for (const std::string text : {"", "f", "fo", "foo", "foob", "\xff\xfe\x01 bytes"})
    EXPECT_EQ(back(base64(std::as_bytes(std::span(text)))), text);
  EXPECT_EQ(back("Zm9v"), "foo");
  EXPECT_EQ(back("Zg"), "f");
  for (const char* bad : {"Z", "Zm9v=", "Zm=v", "Zm9v\n", "====", "Zm9?"})
    EXPECT_THROW(back(bad), Error) << bad;
}

}  // namespace
}  // namespace mdsm
