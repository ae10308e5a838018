#include "io/protobuf.h"

#include <gtest/gtest.h>

namespace mdsm::io {
namespace {

using namespace std::string_literals;

// The examples of the format's description: 150 is 96 01, field 1 of type varint is 08.
TEST(Protobuf, IntegersAreVarints) {
  EXPECT_EQ(ProtobufMessage().integer(1, 150).bytes(), "\x08\x96\x01"s);
  EXPECT_EQ(ProtobufMessage().integer(20, 0).bytes(), "\xa0\x01\x00"s);
  EXPECT_EQ(ProtobufMessage().integer(1, -1).bytes(), "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(Protobuf, TextsAndMessagesHaveTheirLengthBefore) {
  EXPECT_EQ(ProtobufMessage().text(2, "testing").bytes(), "\x12\x07testing"s);
  EXPECT_EQ(ProtobufMessage().message(3, ProtobufMessage().integer(1, 150)).bytes(), "\x1a\x03\x08\x96\x01"s);
  EXPECT_EQ(ProtobufMessage().text(1, std::string(300, 'x')).bytes(),
            "\x0a\xac\x02"s + std::string(300, 'x'));
}

}  // namespace
}  // namespace mdsm::io
