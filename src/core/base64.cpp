#include "core/base64.h"

#include <cstdint>

namespace mdsm {

std::string base64(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t value = 0;
    for (size_t j = i; j < i + 3; ++j)
      value = value << 8 | (j < bytes.size() ? std::to_integer<uint32_t>(bytes[j]) : 0u);
    for (size_t j = 0; j < 4; ++j) out += i + j > bytes.size() ? '=' : kDigits[value >> (18 - 6 * j) & 63];
  }
  return out;
}

}  // namespace mdsm
