#include "io/checked_safetensors.h"

#include <algorithm>

#include "core/hash.h"

namespace mdsm::io {
namespace {

constexpr const char* kChecksum = "checksum";

void add_metadata(Fingerprint& sum, const std::map<std::string, std::string>& metadata) {
  for (const auto& [key, value] : metadata) {
    if (key == kChecksum) continue;
    sum.add(key);
    sum.add(value);
  }
}

void add_tensor(Fingerprint& sum, const std::string& name, const std::vector<int64_t>& shape,
                std::span<const float> values) {
  sum.add(name);
  sum.add(shape.data(), shape.size() * sizeof(int64_t));
  sum.add(values.data(), values.size_bytes());
}

}  // namespace

void write_checked_safetensors(const fs::path& path, const std::vector<NamedTensor>& tensors,
                               std::map<std::string, std::string> metadata) {
  Fingerprint sum;
  add_metadata(sum, metadata);
  for (const NamedTensor& tensor : tensors) add_tensor(sum, tensor.name, tensor.shape, tensor.values);
  metadata[kChecksum] = sum.text();
  write_safetensors(path, tensors, metadata);
}

bool checksum_is_right(const SafetensorsFile& file) {
  const auto written = file.metadata().find(kChecksum);
  if (written == file.metadata().end()) return true;
  std::vector<SafetensorsFile::Entry> entries = file.entries();  // in the order they were written
  std::ranges::stable_sort(entries, {}, [](const auto& entry) { return std::pair(entry.begin, entry.end); });
  Fingerprint sum;
  add_metadata(sum, file.metadata());
  for (const auto& entry : entries) add_tensor(sum, entry.name, entry.shape, file.read(entry));
  return sum.text() == written->second;
}

}  // namespace mdsm::io
