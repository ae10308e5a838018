// Writes PyTorch files for the tests, independently of the code under test: pickles opcode by opcode, put
// into the older format or the zip container.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "io/zip.h"
#include "network/support.h"

namespace mdsm::network {

struct TestStorage {
  std::string type = "FloatStorage", data;  // data: raw values
  size_t width = 4;
};

inline std::string floats(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

namespace pickle {

inline std::string text(const std::string& value) {
  return "X" + raw(static_cast<uint32_t>(value.size())) + value;
}
inline std::string number(int64_t value) { return "\x8a\x08" + raw(value); }
inline std::string tuple(const std::vector<int64_t>& values) {
  std::string bytes = "(";
  for (const int64_t value : values) bytes += number(value);
  return bytes + "t";
}
inline std::string ordered_dict() { return "ccollections\nOrderedDict\n)R"; }
inline std::string storage(const std::string& type, const std::string& key, int64_t count,
                           const std::string& extra = "") {
  return "(" + text("storage") + "ctorch\n" + type + "\n" + text(key) + text("cpu") + number(count) + extra +
         "tQ";
}
inline std::string tensor(const std::string& storage, int64_t offset, const std::vector<int64_t>& shape,
                          const std::vector<int64_t>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + tuple(shape) + tuple(strides) +
         "\x89" + ordered_dict() + "tR";
}
inline std::string parameter(const std::string& tensor) {
  return "ctorch._utils\n_rebuild_parameter\n(" + tensor + "\x88" + ordered_dict() + "tR";
}
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes = ordered_dict() + "(";
  for (const auto& [name, value] : entries) bytes += text(name) + value;
  return bytes + "u";
}
inline std::string document(const std::string& object) { return "\x80\x02" + object + "."; }

}  // namespace pickle

inline std::string legacy_file(const std::string& object,
                               const std::vector<std::pair<std::string, TestStorage>>& storages) {
  std::string bytes = pickle::document(std::string("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")) +
                      pickle::document("M" + raw(uint16_t{1001})) +
                      pickle::document("}(" + pickle::text("little_endian") + "\x88u") +
                      pickle::document(object);
  std::string keys = "](", values;
  for (const auto& [key, storage] : storages) {
    keys += pickle::text(key);
    values += raw(uint64_t{storage.data.size() / storage.width}) + storage.data;
  }
  return bytes + pickle::document(keys + "e") + values;
}

inline std::string zip_file(const fs::path& scratch, const std::string& object,
                            const std::vector<std::pair<std::string, TestStorage>>& storages) {
  const auto bytes_of = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  AtomicFile file(scratch);
  io::ZipWriter zip(file);
  zip.add("net/data.pkl", bytes_of(pickle::document(object)));
  for (const auto& [key, storage] : storages) zip.add("net/data/" + key, bytes_of(storage.data));
  zip.finish();
  file.commit();
  return read_text(scratch);
}

}  // namespace mdsm::network
