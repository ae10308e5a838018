// Messages of Protocol Buffers, written field by field: varints and length-delimited fields, which is all
// that ONNX files need. What the fields mean is the caller's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mdsm::io {

class ProtobufMessage {
 public:
  ProtobufMessage& integer(int field, int64_t value);
  ProtobufMessage& text(int field, std::string_view value);
  ProtobufMessage& message(int field, const ProtobufMessage& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value);
  void key(int field, int wire_type);

  std::string bytes_;
};

}  // namespace mdsm::io
