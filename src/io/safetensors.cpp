#include "io/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/json.h"
#include "core/memory.h"
#include "io/element.h"

namespace mdsm::io {
namespace {

using nlohmann::json;

// The format allows 100 MB. Parsed, a header takes some 15 times its size; ours have some 10 kB, those of
// many samples 1 MB. Nothing is written that would not be read again.
constexpr uint64_t kHeaderLimit = 10'000'000;
constexpr size_t kMaxRank = 64;  // of a tensor
constexpr const char* kDamaged = "the file is damaged or no safetensors file";

std::optional<ElementType> element_type(const std::string& dtype) {
  if (dtype == "F32") return ElementType::float32;
  if (dtype == "F16") return ElementType::float16;
  if (dtype == "BF16") return ElementType::bfloat16;
  if (dtype == "F64") return ElementType::float64;
  return std::nullopt;
}

json parse_header(std::string_view text, const std::string& where) {
  try {
    json header = parse_strict_json(text, kMaxRank);
    if (!header.is_object()) fail(kDamaged, "{}: the header is not a JSON object", where);
    return header;
  } catch (const JsonError& error) {
    fail(kDamaged, "{}: the header {}", where, error.what());
  }
}

std::vector<uint64_t> unsigned_list(const json& entry, const char* key, const std::string& where) {
  const auto list = entry.find(key);
  if (list == entry.end() || !list->is_array()) fail(kDamaged, "{}: '{}' is missing", where, key);
  std::vector<uint64_t> values;
  for (const json& value : *list) {
    // Beyond 2^62 nothing fits a file; refusing it here keeps the sums below from overflowing.
    if (!value.is_number_unsigned() || json_value<uint64_t>(value) > (uint64_t{1} << 62))
      fail(kDamaged, "{}: '{}' holds {}, not a size", where, key, json_text(value));
    values.push_back(json_value<uint64_t>(value));
  }
  return values;
}

SafetensorsFile::Entry parse_entry(const std::string& name, const json& entry, const std::string& where) {
  if (!entry.is_object()) fail(kDamaged, "{}: not a description of a tensor", where);
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) fail(kDamaged, "{}: 'dtype' is missing", where);
  SafetensorsFile::Entry result;
  result.name = name;
  result.dtype = dtype->get<std::string>();
  const auto type = element_type(result.dtype);
  if (!type)
    fail("store it as F32, F16, BF16 or F64", "{}: values of type '{}' cannot be read", where, result.dtype);
  uint64_t bytes = bytes_of(*type);
  bool overflow = false;
  const std::vector<uint64_t> extents = unsigned_list(entry, "shape", where);
  const bool empty = std::find(extents.begin(), extents.end(), 0u) != extents.end();
  for (const uint64_t extent : extents) {
    overflow |= !empty && __builtin_mul_overflow(bytes, extent, &bytes);
    result.shape.push_back(static_cast<int64_t>(extent));
  }
  const std::vector<uint64_t> offsets = unsigned_list(entry, "data_offsets", where);
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    fail(kDamaged, "{}: 'data_offsets' is not a range", where);
  if (overflow || offsets[1] - offsets[0] != (empty ? 0 : bytes))
    fail(kDamaged, "{}: {} bytes do not fit its shape and type", where, offsets[1] - offsets[0]);
  result.begin = offsets[0];
  result.end = offsets[1];
  return result;
}

std::map<std::string, std::string> parse_metadata(const json& values, const std::string& where) {
  if (!values.is_object()) fail(kDamaged, "{}: '__metadata__' is not an object", where);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : values.items()) {
    if (!value.is_string()) fail(kDamaged, "{}: metadata '{}' is not text", where, key);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// The format allows neither holes nor overlaps, and the last tensor ends where the file does.
void check_coverage(std::vector<SafetensorsFile::Entry> entries, size_t data_bytes,
                    const std::string& where) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  size_t at = 0;
  for (const auto& entry : entries) {
    if (entry.end > data_bytes)
      fail("the file is cut short; copy it again", "{}: '{}' ends at byte {} of {} data bytes", where,
           entry.name, entry.end, data_bytes);
    if (entry.begin != at)
      fail(kDamaged, "{}: '{}' leaves a hole or overlaps another tensor", where, entry.name);
    at = entry.end;
  }
  if (at != data_bytes) fail(kDamaged, "{}: {} bytes after the last tensor", where, data_bytes - at);
}

std::vector<uint16_t> halves(const NamedTensor& tensor, const fs::path& path) {
  std::vector<uint16_t> stored;
  stored.reserve(tensor.values.size());
  for (const float value : tensor.values) {
    stored.push_back(half_from_float(value));
    if ((stored.back() & 0x7fff) == 0x7c00 && std::isfinite(value))
      fail("store it as float32", "{}: '{}' holds {}, too large for 16 bits", path.string(), tensor.name,
           value);
  }
  return stored;
}

std::string make_header(const std::vector<NamedTensor>& tensors,
                        const std::map<std::string, std::string>& metadata, StoredType type) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  const size_t value_bytes = type == StoredType::float16 ? 2 : 4;
  size_t at = 0;
  for (const NamedTensor& tensor : tensors) {
    const size_t end = at + tensor.values.size() * value_bytes;
    header[tensor.name] = {{"dtype", type == StoredType::float16 ? "F16" : "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the values then start on a multiple of 8 bytes
  return text;
}

// Calls put(bytes, count) for the pieces of a file.
template <class Put>
void put_file(const std::vector<NamedTensor>& tensors, const std::map<std::string, std::string>& metadata,
              StoredType type, const fs::path& path, const Put& put) {
  const std::string header = make_header(tensors, metadata, type);
  const uint64_t length = header.size();
  if (length > kHeaderLimit)
    fail("keep less in one file", "{}: lists of {}, {} at most are kept in a file", path.string(),
         bytes_text(static_cast<double>(length)), bytes_text(static_cast<double>(kHeaderLimit)));
  put(&length, sizeof length);
  put(header.data(), header.size());
  for (const NamedTensor& tensor : tensors) {
    if (type == StoredType::float16) {
      const std::vector<uint16_t> stored = halves(tensor, path);
      put(stored.data(), stored.size() * sizeof(uint16_t));
    } else {
      put(tensor.values.data(), tensor.values.size_bytes());
    }
  }
}

}  // namespace

void write_safetensors(const fs::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata, StoredType type) {
  AtomicFile file(path);
  put_file(tensors, metadata, type, path, [&](const void* bytes, size_t count) { file.write(bytes, count); });
  file.commit();
}

std::string safetensors_bytes(const std::vector<NamedTensor>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::string all;
  put_file(tensors, metadata, StoredType::float32, "",
           [&](const void* bytes, size_t count) { all.append(static_cast<const char*>(bytes), count); });
  return all;
}

SafetensorsFile::SafetensorsFile(const fs::path& path) : SafetensorsFile(path, read_bytes(path)) {}

SafetensorsFile::SafetensorsFile(const fs::path& name, std::string_view bytes)
    : SafetensorsFile(name, std::vector(reinterpret_cast<const std::byte*>(bytes.data()),
                                        reinterpret_cast<const std::byte*>(bytes.data()) + bytes.size())) {}

SafetensorsFile::SafetensorsFile(const fs::path& path, std::vector<std::byte> bytes)
    : path_(path), bytes_(std::move(bytes)) {
  const std::string where = path.string();
  uint64_t length = 0;
  if (bytes_.empty()) fail("copy it again", "{}: the file is empty", where);
  if (bytes_.size() >= sizeof length) std::memcpy(&length, bytes_.data(), sizeof length);
  if (bytes_.size() < sizeof length || length > kHeaderLimit)
    fail("name a file that mdsm or safetensors wrote", "{}: not a safetensors file", where);
  if (length > bytes_.size() - sizeof length)
    fail("the file is cut short; copy it again", "{}: the header needs {} bytes, the file has {}", where,
         length, bytes_.size() - sizeof length);
  data_begin_ = sizeof length + length;
  const json header =
      parse_header({reinterpret_cast<const char*>(bytes_.data()) + sizeof length, length}, where);
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__")
      metadata_ = parse_metadata(value, where);
    else
      entries_.push_back(parse_entry(name, value, fmt::format("{}: '{}'", where, name)));
  }
  check_coverage(entries_, bytes_.size() - data_begin_, where);
}

const SafetensorsFile::Entry* SafetensorsFile::find(const std::string& name) const {
  for (const Entry& entry : entries_)
    if (entry.name == name) return &entry;
  return nullptr;
}

std::vector<float> SafetensorsFile::read(const Entry& entry) const {
  const ElementType type = element_type(entry.dtype).value();
  std::vector<float> values((entry.end - entry.begin) / bytes_of(type));
  to_float(type, bytes_.data() + data_begin_ + entry.begin, values);
  return values;
}

}  // namespace mdsm::io
