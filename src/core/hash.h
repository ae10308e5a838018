// Fingerprints of bytes, with 64 bits. They tell whether two files or lists are the same; they are no
// protection against someone who wants them to seem so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mdsm {

std::string content_hash(const void* data, size_t bytes);  // FNV-1a as 16 hexadecimal digits

// For much data, given piece by piece: eight bytes at a time. A change within one word always shows. Where
// one piece ends and the next begins counts.
class Fingerprint {
 public:
  void add(const void* data, size_t bytes);
  void add(const std::string& text) { add(text.data(), text.size()); }
  std::string text() const;  // 16 hexadecimal digits

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace mdsm
