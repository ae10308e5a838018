// What is measured: a network with a batch size, its work per step, and the lists the benchmark runs through.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "network/spec.h"

namespace mdsm::bench {

enum class Task { training, langevin };

struct Configuration {
  network::Spec spec;
  int64_t batch = 128;

  bool operator==(const Configuration&) const = default;
};

const char* to_string(Task task);               // "training", "langevin"
std::string text(const Configuration& config);  // "res12 width 64, 128 images 1x32x32"
nlohmann::json to_json(const Configuration& config);

// Floating-point operations of one step by the direct algorithm with pooling folded into the convolutions:
// the six passes of docs/design/second_order.md for training, two for Langevin.
double flop(const Configuration& config, Task task);

enum class Suite { quick, full };  // a small network; the networks of docs/benchmarks.md
constexpr auto enum_names(Suite) { return names_of<Suite>({{Suite::quick, "quick"}, {Suite::full, "full"}}); }
std::vector<Configuration> suite(Suite which);

// What is measured beside busy programs: a network and a batch as small as those of `mdsm sample -n 16`.
Configuration busy_configuration();

// How cost grows with one number while the others stay.
struct Growth {
  std::string what;  // "batch", "width", "size"
  std::vector<Configuration> configurations;
};
std::vector<Growth> growth_suite();

}  // namespace mdsm::bench
