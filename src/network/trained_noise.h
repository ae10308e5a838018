// The noise levels that a model was trained on, as its file says.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace mdsm::network {

struct NoiseRange {
  double min = 0, max = 0;
};
// info: of a Model. Nothing where the file does not say.
std::optional<NoiseRange> trained_noise(const nlohmann::json& info);

}  // namespace mdsm::network
