#include "io/element.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace mdsm::io {
namespace {

static_assert(std::endian::native == std::endian::little, "weight files are read as little-endian");

template <class Stored, class Convert>
void convert(const std::byte* in, std::span<float> out, Convert&& to_value) {
  for (float& value : out) {
    Stored stored;
    std::memcpy(&stored, in, sizeof stored);
    in += sizeof stored;
    value = to_value(stored);
  }
}

}  // namespace

size_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return 4;
    case ElementType::float64:
    case ElementType::int64:
      return 8;
    case ElementType::float16:
    case ElementType::bfloat16:
      return 2;
  }
  return 0;
}

float float_from_half(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u, mantissa = half & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t half_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)  // NaN: keep it quiet, with the top of its payload
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
  uint32_t rounded;
  if (magnitude >= 0x38800000u) {  // normal: drop 13 bits and move the exponent's zero from 127 to 15
    const uint32_t odd = (magnitude >> 13) & 1u;
    rounded = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
  } else {  // subnormal: a multiple of 2^-24; rint rounds ties to even
    rounded = static_cast<uint32_t>(std::rint(std::ldexp(std::bit_cast<float>(magnitude), 24)));
  }
  return static_cast<uint16_t>(sign | rounded);
}

void to_float(ElementType type, const std::byte* in, std::span<float> out) {
  switch (type) {
    case ElementType::float32:
      if (!out.empty()) std::memcpy(out.data(), in, out.size_bytes());
      return;
    case ElementType::float64:
      return convert<double>(in, out, [](double v) { return static_cast<float>(v); });
    case ElementType::float16:
      return convert<uint16_t>(in, out, float_from_half);
    case ElementType::bfloat16:
      return convert<uint16_t>(
          in, out, [](uint16_t v) { return std::bit_cast<float>(static_cast<uint32_t>(v) << 16); });
    case ElementType::int64:
      return convert<int64_t>(in, out, [](int64_t v) { return static_cast<float>(v); });
  }
}

}  // namespace mdsm::io
