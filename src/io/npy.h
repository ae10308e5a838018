// NumPy .npy files (format 1.0 to 3.0, little-endian, C order): uint8, float32 and float64 in, float32 and
// uint8 out; float64 in and out, and integers in, where the file lies in memory, as in an .npz archive.
#pragma once

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/files.h"

namespace mdsm::io {

struct NpyArray {
  std::vector<int64_t> shape;
  std::variant<std::vector<uint8_t>, std::vector<float>> values;  // float64 is converted to float32
};

NpyArray read_npy(const fs::path& path);
// bytes: of the whole file, which the header must agree with before anything is read.
NpyArray read_npy(std::istream& in, uint64_t bytes, const std::string& name);
// Whether it is whole, without keeping it.
void check_npy(std::istream& in, uint64_t bytes, const std::string& name);
void write_npy(const fs::path& path, const std::vector<int64_t>& shape, std::span<const float> values);
void write_npy(const fs::path& path, const std::vector<int64_t>& shape, std::span<const uint8_t> values);

struct NpyDoubles {
  std::vector<int64_t> shape;
  std::vector<double> values;  // float32 and integers are converted
};
// most: more values are an error, of however few bytes each.
NpyDoubles read_npy_doubles(std::istream& in, uint64_t bytes, uint64_t most, const std::string& name);
NpyDoubles parse_npy(std::span<const std::byte> file, const std::string& name);
// The bytes of such a file.
std::string npy_bytes(const std::vector<int64_t>& shape, std::span<const double> values);
std::string npy_bytes(const std::vector<int64_t>& shape, std::span<const uint8_t> values);
std::string npy_bytes(const std::vector<int64_t>& shape, std::span<const int64_t> values);

}  // namespace mdsm::io
