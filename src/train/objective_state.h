// What an objective keeps from step to step, on its way into the training state and back: named tensors and a
// little JSON. The file and everything else in it are checkpoint.h's.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "io/safetensors.h"

namespace mdsm::train {

class StateWriter {
 public:
  // The values stay the objective's own and must not move before the file is written.
  void tensor(std::string name, std::vector<int64_t> shape, std::span<const float> values);
  const std::vector<io::NamedTensor>& tensors() const { return tensors_; }

  nlohmann::json values = nlohmann::json::object();

 private:
  std::vector<io::NamedTensor> tensors_;
};

class StateReader {
 public:
  StateReader(const io::SafetensorsFile& file, nlohmann::json values);

  // Of exactly this shape, of which the first number may be -1: as many as there are. Errors when the tensor
  // is missing, of another shape or type, or not finite.
  std::vector<float> tensor(const std::string& name, std::span<const int64_t> shape);
  bool was_read(const std::string& name) const { return read_.contains(name); }

  const nlohmann::json values;  // an empty object where none were saved

 private:
  const io::SafetensorsFile& file_;
  std::set<std::string> read_;
};

// For files that are not the run's own or not whole: says which file and what is wrong with it.
[[noreturn]] void fail_damaged_state(const fs::path& path, const std::string& what);

}  // namespace mdsm::train
