// A reader for the pickles of PyTorch state dicts and of CIFAR. It builds plain values and runs nothing:
// calls are recorded, not made, and only the few opcodes and names such files use are accepted. All values of
// a document lie in one list and refer to each other by index, so nothing here recurses, however the file is
// nested.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace mdsm::io {

struct PickleValue {
  enum class Kind {
    none,
    boolean,
    integer,
    big_integer,
    real,
    text,
    tuple,
    list,
    dict,
    global,
    call,
    storage
  };

  Kind kind = Kind::none;
  int64_t integer = 0;  // also boolean
  double real = 0;
  std::string text;  // text; "module name" of a global or of the function called; big_integer's bytes
  std::vector<uint32_t> state;  // of a call, where the rules keep it: one index, or none
  std::vector<uint32_t> items;  // tuple, list; a dict's keys and values in turn; arguments of a call; the
                                // persistent id of a storage
};

struct PickleRules {
  std::span<const char* const> allowed;  // globals, as "module name"
  const char* damaged;                   // hints: what to do about a pickle that makes no sense,
  const char* refused;                   // and about one that holds something else
  bool keep_state = false;               // objects may have a state of their own (NumPy arrays)
};

class PickleDocument {
 public:
  // Reads one pickle that starts at `begin`; end() is where it stopped.
  PickleDocument(std::span<const std::byte> bytes, size_t begin, const PickleRules& rules,
                 const std::string& where);

  const PickleValue& root() const { return values_[root_]; }
  const PickleValue& at(uint32_t index) const { return values_[index]; }
  const PickleValue& item(const PickleValue& value, size_t i) const { return values_[value.items[i]]; }
  const std::vector<PickleValue>& values() const { return values_; }
  size_t end() const { return end_; }

 private:
  friend class PickleReader;
  std::vector<PickleValue> values_;
  uint32_t root_ = 0;
  size_t end_ = 0;
};

}  // namespace mdsm::io
