#include "network/trained_noise.h"

namespace mdsm::network {

std::optional<NoiseRange> trained_noise(const nlohmann::json& info) {
  const nlohmann::json trained = info.value("trained", nlohmann::json());
  if (!trained.is_object() || !trained.contains("noise") || !trained["noise"].is_object()) return {};
  const nlohmann::json& noise = trained["noise"];
  const auto number = [&](const char* key) { return noise.contains(key) && noise[key].is_number(); };
  if (number("sigma")) return NoiseRange{noise["sigma"], noise["sigma"]};
  if (!number("sigma_max")) return {};
  return NoiseRange{number("sigma_min") ? noise["sigma_min"].get<double>() : 0, noise["sigma_max"]};
}

}  // namespace mdsm::network
