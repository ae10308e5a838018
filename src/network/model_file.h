// A trained model as one safetensors file: the weights under the authors' names, and in __metadata__ the spec
// and whatever a later command needs (preset, training summary, sampling defaults), so that the file is all
// it takes.
#pragma once

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "io/safetensors.h"
#include "network/parameters.h"

namespace mdsm::network {

struct Model {
  Parameters parameters;
  nlohmann::json info;  // the other metadata: "preset", "trained", "sampling", ...
};

// info: an object; every member becomes one metadata entry (strings as they are, everything else as JSON
// text).
void save_model(const fs::path& path, const Parameters& parameters, const nlohmann::json& info,
                io::StoredType type = io::StoredType::float32);
// Checks names, shapes and finiteness against the spec inside the file. A run folder gives its averaged
// weights, ema.safetensors; a name that is no path, the bundled model of this name.
Model load_model(const fs::path& path);

}  // namespace mdsm::network
