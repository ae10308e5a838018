#include "core/hash.h"

#include <fmt/format.h>

#include <cstring>

namespace mdsm {
namespace {

// For either argument fixed a bijection of the other, so a single different word cannot get lost.
uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

}  // namespace

std::string content_hash(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto* at = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

void Fingerprint::add(const void* data, size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  hash_ = mixed(hash_, bytes);
  for (; bytes > 0;) {
    uint64_t word = 0;
    const size_t piece = bytes < sizeof word ? bytes : sizeof word;
    std::memcpy(&word, at, piece);
    hash_ = mixed(hash_, word);
    at += piece;
    bytes -= piece;
  }
}

std::string Fingerprint::text() const { return fmt::format("{:016x}", hash_); }

}  // namespace mdsm
