// Number formats found in weight files, and their conversion to and from float32. Values are little-endian,
// as on every machine this runs on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mdsm::io {

enum class ElementType { float32, float64, float16, bfloat16, int64 };

size_t bytes_of(ElementType type);

float float_from_half(uint16_t half);
// Rounds to nearest, ties to even; too large a value becomes infinity, NaN stays NaN.
uint16_t half_from_float(float value);

// Converts out.size() values that start at `in` (no alignment needed).
void to_float(ElementType type, const std::byte* in, std::span<float> out);

}  // namespace mdsm::io
