// What `mdsm models` does: the models that come with the program, with what their files say of them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "network/spec.h"

namespace mdsm::app {

struct BundledModel {
  std::string name;
  fs::path file;
  uintmax_t bytes = 0;
  network::Spec spec;
  int64_t parameters = 0;
  std::optional<std::string> data;  // what it was trained on, and how long; where the file says so
  std::optional<int64_t> updates;
  bool continued = false;  // from another model: updates are those of the last part
};

// By name, without the classifiers.
std::vector<BundledModel> run_models();
nlohmann::json to_json(const std::vector<BundledModel>& models);
void print(const std::vector<BundledModel>& models);

}  // namespace mdsm::app
