#include "data/cifar_pickle.h"

#include "core/error.h"
#include "io/pickle.h"

namespace mdsm::data {
namespace {

using Kind = io::PickleValue::Kind;

constexpr int64_t kPicklePixels = 3 * 32 * 32;
constexpr const char* kHint = "use the file as the authors of CIFAR distribute it";
constexpr const char* kAllowed[] = {"numpy.core.multiarray _reconstruct",
                                    "numpy._core.multiarray _reconstruct", "numpy ndarray", "numpy dtype"};
constexpr io::PickleRules kRules = {kAllowed, kHint, kHint, true};

const io::PickleValue* find(const io::PickleDocument& document, const std::string& key) {
  const io::PickleValue& root = document.root();
  for (size_t i = 0; root.kind == Kind::dict && i + 1 < root.items.size(); i += 2)
    if (document.item(root, i).text == key) return &document.item(root, i + 1);
  return nullptr;
}

const io::PickleValue& entry(const io::PickleDocument& document, const std::string& key,
                             const std::string& name) {
  const io::PickleValue* found = find(document, key);
  if (!found) fail(kHint, "{}: no CIFAR batch: it has no '{}'", name, key);
  return *found;
}

// The bytes of a NumPy array (N, 3072) of uint8. Its state: (version, shape, type, Fortran order, bytes).
const std::string& array_bytes(const io::PickleDocument& document, const io::PickleValue& array,
                               const std::string& name) {
  const auto wrong = [&](const char* what) { fail(kHint, "{}: no CIFAR batch: its data is {}", name, what); };
  if (array.kind != Kind::call || !array.text.ends_with("_reconstruct") || array.state.size() != 1)
    wrong("no array");
  const io::PickleValue& state = document.at(array.state[0]);
  if (state.kind != Kind::tuple || state.items.size() != 5) wrong("no array");
  const io::PickleValue &shape = document.item(state, 1), &type = document.item(state, 2),
                        &fortran = document.item(state, 3), &bytes = document.item(state, 4);
  if (type.kind != Kind::call || type.items.empty() || document.item(type, 0).text != "u1")
    wrong("not of type uint8");
  if (fortran.kind != Kind::boolean || fortran.integer != 0) wrong("in Fortran order");
  if (shape.kind != Kind::tuple || shape.items.size() != 2 ||
      document.item(shape, 1).integer != kPicklePixels)
    wrong("not (N, 3072)");
  const int64_t n = document.item(shape, 0).integer;
  if (bytes.kind != Kind::text || n < 1 || n > (int64_t{1} << 32) ||
      static_cast<int64_t>(bytes.text.size()) != n * kPicklePixels)
    wrong("of another length than its shape");
  return bytes.text;
}

}  // namespace

CifarBatch read_cifar_pickle(std::span<const std::byte> file, const std::string& label_key, int64_t classes,
                             const std::string& name) {
  const io::PickleDocument document(file, 0, kRules, name);
  const std::string& pixels = array_bytes(document, entry(document, "data", name), name);
  CifarBatch batch{{pixels.begin(), pixels.end()}, {}};
  const io::PickleValue& labels = entry(document, label_key, name);
  if (labels.kind != Kind::list || labels.items.size() * kPicklePixels != pixels.size())
    fail(kHint, "{}: no CIFAR batch: not one label for each image", name);
  for (size_t i = 0; i < labels.items.size(); ++i) {
    const io::PickleValue& label = document.item(labels, i);
    if (label.kind != Kind::integer || label.integer < 0 || label.integer >= classes)
      fail(kHint, "{}: image {} has the label {}", name, i, label.integer);
    batch.labels.push_back(static_cast<int32_t>(label.integer));
  }
  return batch;
}

std::vector<std::string> read_cifar_names(std::span<const std::byte> file, const std::string& key,
                                          const std::string& name) {
  const io::PickleDocument document(file, 0, kRules, name);
  const io::PickleValue& list = entry(document, key, name);
  std::vector<std::string> names;
  for (size_t i = 0; list.kind == Kind::list && i < list.items.size(); ++i)
    names.push_back(document.item(list, i).text);
  return names;
}

}  // namespace mdsm::data
