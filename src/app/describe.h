// What `mdsm describe` does: a network's layers, parameters, cost and memory, computed from its spec alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/trainable_energy.h"
#include "network/layers.h"

namespace mdsm::app {

struct DescribeOptions {
  std::string model;   // file, run folder or bundled model; empty: the network of `spec`
  network::Spec spec;  // checked
  int64_t batch = 128;
  std::string svg;  // file for a drawing; empty: none
};

struct DescribeResult {
  network::Spec spec;
  std::vector<network::LayerInfo> layers;
  int64_t parameters = 0, multiply_adds = 0, batch = 0;
  engine::MemoryNeed memory, memory_bfloat16;      // of the native engine
  nlohmann::json info = nlohmann::json::object();  // notes in the model file, as they stand there
};

// Writes the drawing if there is to be one.
DescribeResult run_describe(const DescribeOptions& options);
nlohmann::json to_json(const DescribeResult& result);
void print(const DescribeResult& result);

}  // namespace mdsm::app
