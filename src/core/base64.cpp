#include "core/base64.h"

#include <array>
#include <cstdint>

#include "core/error.h"

namespace mdsm {
namespace {
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string base64(std::span<const std::byte> bytes) {
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

std::vector<std::byte> from_base64(std::string_view text, const std::string& name) {
  std::array<int, 256> values;
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i)
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<int>(i);
  if (text.size() % 4 == 0)
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t value = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int digit = values[static_cast<unsigned char>(text[i])];
    if (digit < 0) fail_usage("encode it again", "{}: no base64, at character {}", name, i + 1);
    value = value << 6 | static_cast<uint32_t>(digit);
    if (i % 4 > 0) bytes.push_back(static_cast<std::byte>(value >> (6 - 2 * (i % 4)) & 255));
  }
  if (text.size() % 4 == 1) fail_usage("encode it again", "{}: no base64, it ends early", name);
  return bytes;
}

}  // namespace mdsm
