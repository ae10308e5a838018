#include "io/protobuf.h"

namespace mdsm::io {
namespace {

constexpr int kVarint = 0, kLengthDelimited = 2;

}  // namespace

// Seven bits a byte, lowest first; the eighth says that more follow.
void ProtobufMessage::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void ProtobufMessage::key(int field, int wire_type) {
  varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire_type));
}

ProtobufMessage& ProtobufMessage::integer(int field, int64_t value) {
  key(field, kVarint);
  varint(static_cast<uint64_t>(value));
  return *this;
}

ProtobufMessage& ProtobufMessage::text(int field, std::string_view value) {
  key(field, kLengthDelimited);
  varint(value.size());
  bytes_ += value;
  return *this;
}

}  // namespace mdsm::io
