// NumPy .npy files (format 1.0 to 3.0, little-endian, C order): uint8, float32 and float64 in, float32 and
// uint8 out.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/files.h"

namespace mdsm {

struct NpyArray {
  std::vector<int64_t> shape;
  std::variant<std::vector<uint8_t>, std::vector<float>> values;  // float64 is converted to float32
};

NpyArray read_npy(const fs::path& path);
void write_npy(const fs::path& path, const std::vector<int64_t>& shape, std::span<const float> values);
void write_npy(const fs::path& path, const std::vector<int64_t>& shape, std::span<const uint8_t> values);

}  // namespace mdsm
