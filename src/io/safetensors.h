// safetensors files: a little-endian u64 header length, a JSON header (dtype, shape, data_offsets,
// __metadata__ from string to string), then the values. Written atomically; read with every offset checked.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"

namespace mdsm::io {

struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::span<const float> values;  // not owned
};

enum class StoredType { float32, float16 };

void write_safetensors(const fs::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata,
                       StoredType type = StoredType::float32);

// What such a file would hold, for another process.
std::string safetensors_bytes(const std::vector<NamedTensor>& tensors,
                              const std::map<std::string, std::string>& metadata);

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const fs::path& path);
  // Bytes that came another way than from a file; `name` is for messages.
  SafetensorsFile(const fs::path& name, std::string_view bytes);

  struct Entry {
    std::string name, dtype;
    std::vector<int64_t> shape;
    size_t begin = 0, end = 0;  // in the data section
  };
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // F32, F16, BF16 and F64 are converted to float.
  std::vector<float> read(const Entry& entry) const;
  const fs::path& path() const { return path_; }

 private:
  SafetensorsFile(const fs::path& path, std::vector<std::byte> bytes);

  fs::path path_;
  std::vector<std::byte> bytes_;
  size_t data_begin_ = 0;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace mdsm::io
