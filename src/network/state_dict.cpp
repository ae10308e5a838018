// Reading: from the container to pickled values, from those to tensors.
#include "network/state_dict.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "io/element.h"
#include "io/pickle.h"
#include "io/zip.h"

namespace mdsm::network {
namespace {

using Kind = io::PickleValue::Kind;

constexpr const char* kDamaged = "the file is damaged or no PyTorch state dict";
constexpr const char* kRefused = "save a plain state dict: torch.save(net.state_dict(), file)";
constexpr const char* kAllowed[] = {"collections OrderedDict",
                                    "torch._utils _rebuild_tensor_v2",
                                    "torch._utils _rebuild_parameter",
                                    "torch FloatStorage",
                                    "torch DoubleStorage",
                                    "torch HalfStorage",
                                    "torch BFloat16Storage",
                                    "torch LongStorage"};
constexpr io::PickleRules kRules = {kAllowed, kDamaged, kRefused};
// What the older format starts with: this number of ten bytes as a pickle.
constexpr char kLegacyMagic[] = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr int64_t kLegacyProtocol = 1001;

struct Storage {
  io::ElementType type = io::ElementType::float32;
  std::string key;
  int64_t count = 0;              // of the whole storage
  int64_t begin = 0, length = 0;  // the part this reference sees
};
using StorageData = std::map<std::string, io::Bytes>;

std::optional<io::ElementType> storage_type(const std::string& global) {
  if (global == "torch FloatStorage") return io::ElementType::float32;
  if (global == "torch DoubleStorage") return io::ElementType::float64;
  if (global == "torch HalfStorage") return io::ElementType::float16;
  if (global == "torch BFloat16Storage") return io::ElementType::bfloat16;
  if (global == "torch LongStorage") return io::ElementType::int64;
  return std::nullopt;
}

// ("storage", class, key, device, count[, None or (key, first, length)]); the last only in the older format.
Storage parse_storage(const io::PickleDocument& document, const io::PickleValue& value,
                      const std::string& where) {
  const auto item = [&](size_t i) -> const io::PickleValue& { return document.item(value, i); };
  if (value.kind != Kind::storage || value.items.size() < 5 || value.items.size() > 6 ||
      item(0).text != "storage" || item(1).kind != Kind::global || item(2).kind != Kind::text ||
      item(4).kind != Kind::integer)
    fail(kDamaged, "{}: a tensor without a proper storage", where);
  const auto type = storage_type(item(1).text);
  const int64_t count = item(4).integer;
  if (!type || count < 0) fail(kDamaged, "{}: a storage of {} values of no known type", where, count);
  Storage storage{*type, item(2).text, count, 0, count};
  if (value.items.size() == 6 && item(5).kind != Kind::none) {
    const io::PickleValue& view = item(5);
    if (view.kind != Kind::tuple || view.items.size() != 3)
      fail(kDamaged, "{}: a storage with a broken view", where);
    storage.begin = document.item(view, 1).integer;
    storage.length = document.item(view, 2).integer;
    if (storage.begin < 0 || storage.length < 0 || storage.begin > count ||
        storage.length > count - storage.begin)
      fail(kDamaged, "{}: a view beyond its storage", where);
  }
  return storage;
}

std::vector<int64_t> parse_extents(const io::PickleDocument& document, const io::PickleValue& value,
                                   const std::string& where) {
  constexpr size_t kMostDimensions = 16;
  if (value.kind != Kind::tuple || value.items.size() > kMostDimensions)
    fail(kDamaged, "{}: a tensor without a proper shape", where);
  std::vector<int64_t> extents;
  for (const uint32_t index : value.items) {
    const io::PickleValue& extent = document.at(index);
    if (extent.kind != Kind::integer || extent.integer < 0)
      fail(kDamaged, "{}: a tensor with a negative size or stride", where);
    extents.push_back(extent.integer);
  }
  return extents;
}

const io::PickleValue* tensor_call(const io::PickleDocument& document, const io::PickleValue* value) {
  // A parameter wraps a tensor; a few levels are more than any file has.
  for (int level = 0; level < 4 && value->kind == Kind::call; ++level) {
    if (value->text == "torch._utils _rebuild_tensor_v2") return value;
    if (value->items.empty()) return nullptr;
    value = &document.item(*value, 0);
  }
  return nullptr;
}

struct TensorLayout {
  std::vector<int64_t> shape, strides;
  int64_t offset = 0, count = 1;
};

// Every element must lie inside the part of the storage the tensor refers to.
void check_layout(TensorLayout& layout, const Storage& storage, const std::string& where) {
  const auto overflow = [&] { fail(kDamaged, "{}: a tensor beyond its storage", where); };
  if (layout.shape.size() != layout.strides.size())
    fail(kDamaged, "{}: a tensor with {} sizes and {} strides", where, layout.shape.size(),
         layout.strides.size());
  int64_t last = layout.offset;
  for (size_t i = 0; i < layout.shape.size(); ++i) {
    if (layout.shape[i] == 0) {
      layout.count = 0;
      return;
    }
    int64_t span = 0;
    if (__builtin_mul_overflow(layout.count, layout.shape[i], &layout.count) ||
        __builtin_mul_overflow(layout.shape[i] - 1, layout.strides[i], &span) ||
        __builtin_add_overflow(last, span, &last))
      overflow();
  }
  // Repeated elements (stride 0) would let a small file ask for any amount of memory.
  if (layout.offset < 0 || last >= storage.length || layout.count > storage.length) overflow();
}

bool is_contiguous(const TensorLayout& layout) {
  int64_t expected = 1;
  for (size_t i = layout.shape.size(); i-- > 0;) {
    if (layout.shape[i] != 1 && layout.strides[i] != expected) return false;
    expected *= layout.shape[i];
  }
  return true;
}

std::vector<float> gather(const TensorLayout& layout, io::ElementType type, const std::byte* data) {
  std::vector<float> values(static_cast<size_t>(layout.count));
  if (values.empty()) return values;
  if (is_contiguous(layout)) {
    io::to_float(type, data, values);
    return values;
  }
  std::vector<int64_t> index(layout.shape.size(), 0);
  int64_t at = 0;
  for (float& value : values) {
    io::to_float(type, data + static_cast<size_t>(at) * bytes_of(type), std::span(&value, 1));
    for (size_t i = index.size(); i-- > 0;) {  // count up, last index fastest
      at += layout.strides[i];
      if (++index[i] < layout.shape[i]) break;
      at -= index[i] * layout.strides[i];
      index[i] = 0;
    }
  }
  return values;
}

StateTensor parse_tensor(const io::PickleDocument& document, const io::PickleValue& call,
                         const StorageData& data, const std::string& where) {
  if (call.items.size() < 4 || document.item(call, 1).kind != Kind::integer)
    fail(kDamaged, "{}: a tensor with too few properties", where);
  const Storage storage = parse_storage(document, document.item(call, 0), where);
  TensorLayout layout;
  layout.offset = document.item(call, 1).integer;
  layout.shape = parse_extents(document, document.item(call, 2), where);
  layout.strides = parse_extents(document, document.item(call, 3), where);
  check_layout(layout, storage, where);
  StateTensor tensor{layout.shape, {}, storage.type != io::ElementType::int64};
  const auto found = data.find(storage.key);
  if (found == data.end()) fail(kDamaged, "{}: storage '{}' is missing", where, storage.key);
  // Divided, not multiplied: the count is the file's claim and may be anything.
  if (found->second.size() % io::bytes_of(storage.type) != 0 ||
      found->second.size() / io::bytes_of(storage.type) != static_cast<uint64_t>(storage.count))
    fail(kDamaged, "{}: storage '{}' has {} bytes for {} values", where, storage.key, found->second.size(),
         storage.count);
  const int64_t first = layout.count == 0 ? 0 : storage.begin + layout.offset;
  if (tensor.is_float)
    tensor.values = gather(layout, storage.type,
                           found->second.data() + static_cast<size_t>(first) * bytes_of(storage.type));
  return tensor;
}

bool is_tensor_dict(const io::PickleDocument& document, const io::PickleValue& value) {
  if (value.kind != Kind::dict || value.items.empty()) return false;
  for (size_t i = 0; i < value.items.size(); i += 2)
    if (document.item(value, i).kind != Kind::text || !tensor_call(document, &document.item(value, i + 1)))
      return false;
  return true;
}

const io::PickleValue& find_tensor_dict(const io::PickleDocument& document, const std::string& where) {
  const io::PickleValue& root = document.root();
  if (is_tensor_dict(document, root)) return root;
  std::vector<const io::PickleValue*> nested;
  if (root.kind == Kind::dict)
    for (size_t i = 1; i < root.items.size(); i += 2)
      if (is_tensor_dict(document, document.item(root, i))) nested.push_back(&document.item(root, i));
  if (nested.size() != 1)
    fail(kRefused, "{}: {}", where,
         nested.empty() ? "holds no dict of tensors"
                        : fmt::format("holds {} dicts of tensors, which one is the network's is unclear",
                                      nested.size()));
  return *nested[0];
}

StateDict parse_dict(const io::PickleDocument& document, const StorageData& data, size_t file_bytes,
                     const std::string& where) {
  const io::PickleValue& dict = find_tensor_dict(document, where);
  StateDict result;
  size_t total = 0;
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const std::string& name = document.item(dict, i).text;
    const std::string place = fmt::format("{}: '{}'", where, name);
    StateTensor tensor =
        parse_tensor(document, *tensor_call(document, &document.item(dict, i + 1)), data, place);
    // Tensors may share a storage, but not so often that a small file fills the memory.
    if ((total += tensor.values.size()) > file_bytes)
      fail(kRefused, "{}: its tensors hold more values than the file has bytes", where);
    if (!result.emplace(name, std::move(tensor)).second) fail(kDamaged, "{}: appears twice", place);
  }
  return result;
}

StateDict read_container(io::Bytes file, const std::string& where) {
  const std::map<std::string, io::Bytes> entries = io::read_zip(file, where);
  const std::string suffix = "/data.pkl";
  std::optional<std::string> folder;
  for (const auto& [name, content] : entries)
    if (name.size() > suffix.size() && name.ends_with(suffix) &&
        name.find('/') == name.size() - suffix.size())
      folder = name.substr(0, name.size() - suffix.size());
  if (!folder) fail(kRefused, "{}: a zip archive without data.pkl, not a PyTorch file", where);
  if (const auto order = entries.find(*folder + "/byteorder"); order != entries.end())
    if (order->second.size() >= 3 && std::memcmp(order->second.data(), "big", 3) == 0)
      fail("save it on a little-endian machine", "{}: its values are big-endian", where);
  StorageData data;
  const std::string prefix = *folder + "/data/";
  for (const auto& [name, content] : entries)
    if (name.starts_with(prefix)) data[name.substr(prefix.size())] = content;
  const io::PickleDocument document(entries.at(*folder + suffix), 0, kRules, where);
  return parse_dict(document, data, file.size(), where);
}

// After the object pickle: a list of storage keys, then for each its count (int64) and its values.
StorageData read_legacy_data(io::Bytes file, const io::PickleDocument& object, const std::string& where) {
  std::map<std::string, io::ElementType> types;
  for (const io::PickleValue& value : object.values())
    if (value.kind == Kind::storage) {
      const Storage storage = parse_storage(object, value, where);
      if (!types.emplace(storage.key, storage.type).second && types[storage.key] != storage.type)
        fail(kDamaged, "{}: storage '{}' has two types", where, storage.key);
    }
  const io::PickleDocument keys(file, object.end(), kRules, where);
  if (keys.root().kind != Kind::list) fail(kDamaged, "{}: the list of storages is missing", where);
  StorageData data;
  size_t at = keys.end();
  for (const uint32_t index : keys.root().items) {
    const std::string& key = keys.at(index).text;
    const auto type = types.find(key);
    if (type == types.end()) fail(kDamaged, "{}: storage '{}' belongs to no tensor", where, key);
    uint64_t count = 0;
    if (file.size() - at < sizeof count) fail(kDamaged, "{}: storage '{}' is cut short", where, key);
    std::memcpy(&count, file.data() + at, sizeof count);
    at += sizeof count;
    const size_t width = io::bytes_of(type->second);
    if (count > (file.size() - at) / width) fail(kDamaged, "{}: storage '{}' is cut short", where, key);
    data[key] = file.subspan(at, count * width);
    at += count * width;
  }
  return data;
}

StateDict read_legacy(io::Bytes file, const std::string& where) {
  const io::PickleDocument magic(file, 0, kRules, where);
  if (magic.root().kind != Kind::big_integer || magic.root().text != kLegacyMagic)
    fail(kRefused, "{}: a pickle, but not one of PyTorch", where);
  const io::PickleDocument protocol(file, magic.end(), kRules, where);
  if (protocol.root().integer != kLegacyProtocol)
    fail(kRefused, "{}: PyTorch's format {} is not known", where, protocol.root().integer);
  const io::PickleDocument system(file, protocol.end(), kRules, where);
  const io::PickleDocument object(file, system.end(), kRules, where);
  return parse_dict(object, read_legacy_data(file, object, where), file.size(), where);
}

}  // namespace

StateDict read_state_dict(std::span<const std::byte> file, const std::string& where) {
  const auto starts_with = [&](std::string_view start) {
    return file.size() >= start.size() && std::memcmp(file.data(), start.data(), start.size()) == 0;
  };
  if (starts_with("PK\3\4")) return read_container(file, where);
  if (starts_with("\x80")) return read_legacy(file, where);
  fail("give a .pt or .pth file written by torch.save", "{}: not a PyTorch file", where);
}

StateDict read_state_dict(const fs::path& path) { return read_state_dict(read_bytes(path), path.string()); }

}  // namespace mdsm::network
