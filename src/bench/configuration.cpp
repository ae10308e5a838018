#include "bench/configuration.h"

#include <nlohmann/json.hpp>

namespace mdsm::bench {
namespace {

Configuration make(network::Network network, int64_t width, int64_t batch, int64_t channels, int64_t size) {
  Configuration config;
  config.spec.network = network;
  config.spec.width = width;
  config.spec.channels = channels;
  config.spec.size = size;
  config.batch = batch;
  if (network == network::Network::unet) config.spec.head = network::Head::squared_residual;
  return config;
}

}  // namespace

const char* to_string(Task task) { return task == Task::training ? "training" : "langevin"; }

std::string text(const Configuration& config) {
  const network::Spec& spec = config.spec;
  const network::Head usual =
      spec.network == network::Network::unet ? network::Head::squared_residual : network::Head::quadratic;
  return fmt::format("{} width {}, {} images {}x{}x{}{}", mdsm::to_string(spec.network), spec.width,
                     config.batch, spec.channels, spec.size, spec.size,
                     spec.head == usual ? "" : fmt::format(", {} head", mdsm::to_string(spec.head)));
}

nlohmann::json to_json(const Configuration& config) {
  nlohmann::json values = to_json(config.spec);
  values["batch"] = config.batch;
  return values;
}

double flop(const Configuration& config, Task task) {
  const double energy = static_cast<double>(network::multiply_adds(config.spec));
  if (task == Task::langevin) return 2 * 2 * energy * static_cast<double>(config.batch);
  // The second backward pass ends above the first convolution: its input has no parameters below it.
  const double first = static_cast<double>(9 * config.spec.width * config.spec.input(1).count());
  return 2 * (6 * energy - first) * static_cast<double>(config.batch);
}

std::vector<Configuration> suite(Suite which) {
  if (which == Suite::quick) return {make(network::Network::res12, 16, 32, 1, 32)};
  return {make(network::Network::res12, 16, 128, 1, 32), make(network::Network::res12, 32, 128, 1, 32),
          make(network::Network::res12, 64, 128, 1, 32), make(network::Network::res18, 128, 16, 3, 32),
          make(network::Network::res12, 32, 32, 3, 64),  make(network::Network::unet, 32, 32, 3, 32),
          make(network::Network::unet, 64, 128, 3, 32)};
}

Configuration busy_configuration() { return make(network::Network::res12, 16, 16, 1, 32); }

std::vector<Growth> growth_suite() {
  std::vector<Growth> list = {{"batch", {}}, {"width", {}}, {"size", {}}};
  for (const int64_t batch : {8, 32, 128, 512})
    list[0].configurations.push_back(make(network::Network::res12, 32, batch, 1, 32));
  for (const int64_t width : {16, 32, 64, 128})
    list[1].configurations.push_back(make(network::Network::res12, width, 32, 1, 32));
  for (const int64_t size : {32, 48, 64})
    list[2].configurations.push_back(make(network::Network::res12, 32, 32, 1, size));
  return list;
}

}  // namespace mdsm::bench
