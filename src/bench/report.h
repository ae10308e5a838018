// The result of a benchmark as text for people (Markdown, also what docs/benchmarks.md holds) and as JSON for
// machines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/measure.h"

namespace mdsm::bench {

struct Machine {
  std::string date, cpu, features;
  int cores = 0;
};
Machine this_machine();

std::string markdown(const BenchResult& result, const Machine& machine);
nlohmann::json to_json(const BenchResult& result, const Machine& machine);

}  // namespace mdsm::bench
