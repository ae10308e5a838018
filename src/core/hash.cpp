#include "core/hash.h"

#include <fmt/format.h>

#include <cstdint>

namespace mdsm {

std::string content_hash(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto* at = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace mdsm
