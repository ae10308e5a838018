// Writing: a pickle of protocol 2 that calls for the tensors, and one storage for each, in a zip archive.
#include <fmt/format.h>

#include "core/error.h"
#include "io/zip.h"
#include "network/state_dict.h"

namespace mdsm::network {
namespace {

// Emits opcodes into a string; only what a state dict needs.
class PickleWriter {
 public:
  PickleWriter& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  template <class T>
  PickleWriter& packed(char opcode, T value) {
    bytes_ += opcode;
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  PickleWriter& text(std::string_view value) {
    return packed('X', static_cast<uint32_t>(value.size())).raw(value);
  }
  PickleWriter& integer(int64_t value) {
    if (value < 0x100) return packed('K', static_cast<uint8_t>(value));
    if (value < 0x10000) return packed('M', static_cast<uint16_t>(value));
    if (value < 0x80000000) return packed('J', static_cast<int32_t>(value));
    return raw("\x8a\x08").raw({reinterpret_cast<const char*>(&value), sizeof value});
  }
  PickleWriter& integers(const std::vector<int64_t>& values) {
    raw("(");
    for (const int64_t value : values) integer(value);
    return raw("t");
  }
  PickleWriter& ordered_dict() { return raw("ccollections\nOrderedDict\n)R"); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

void write_tensor(PickleWriter& out, const ParameterInfo& info, const std::string& key) {
  std::vector<int64_t> strides(info.shape.size(), 1);
  for (size_t i = strides.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * info.shape[i + 1];
  out.text(info.name).raw("ctorch._utils\n_rebuild_tensor_v2\n((");
  out.text("storage").raw("ctorch\nFloatStorage\n").text(key).text("cpu").integer(info.count).raw("tQ");
  out.integer(0).integers(info.shape).integers(strides).raw("\x89").ordered_dict().raw("tR");
}

io::Bytes bytes_of_text(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

void write_state_dict(const fs::path& path, const Parameters& parameters) {
  const std::vector<ParameterInfo>& layout = parameters.layout();
  PickleWriter pickle;
  pickle.raw("\x80\x02").ordered_dict().raw("(");
  for (size_t i = 0; i < layout.size(); ++i) write_tensor(pickle, layout[i], std::to_string(i));
  const std::vector<float> bowl = {static_cast<float>(parameters.spec().bowl)};
  if (bowl[0] != 0) write_tensor(pickle, {kBowlEntry, {1}, 0, 1, 0, false}, kBowlEntry);
  pickle.raw("u.");
  AtomicFile file(path);
  io::ZipWriter zip(file);
  zip.add("archive/data.pkl", bytes_of_text(pickle.bytes()));
  zip.add("archive/byteorder", bytes_of_text("little"));
  for (size_t i = 0; i < layout.size(); ++i)
    zip.add(fmt::format("archive/data/{}", i), std::as_bytes(parameters.at(layout[i])));
  if (bowl[0] != 0) zip.add(fmt::format("archive/data/{}", kBowlEntry), std::as_bytes(std::span(bowl)));
  zip.add("archive/version", bytes_of_text("3\n"));
  zip.finish();
  file.commit();
}

}  // namespace mdsm::network
