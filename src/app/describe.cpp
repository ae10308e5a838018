#include "app/describe.h"

#include "app/output.h"
#include "core/json.h"
#include "core/memory.h"
#include "engine/registry/registry.h"
#include "network/graph.h"
#include "network/model_file.h"
#include "report/network_drawing.h"

namespace mdsm::app {
namespace {

std::string shape_text(const Shape& shape) { return fmt::format("{}x{}x{}", shape.c, shape.h, shape.w); }

// "unet, width 32, images 3x32x32, squared-residual head, sigma0 0.1, bowl 0"
std::string title(const network::Spec& spec) {
  return fmt::format("{}, width {}, images {}, {} head, sigma0 {:g}, bowl {:g}", to_string(spec.network),
                     spec.width, shape_text(spec.input(1)), to_string(spec.head), spec.sigma0, spec.bowl);
}

std::string memory_text(size_t bytes) { return bytes_text(static_cast<double>(bytes)); }

nlohmann::json to_json(const engine::MemoryNeed& memory) {
  return {{"weights", memory.weights},
          {"training_weights", memory.training_weights},
          {"energy", memory.energy},
          {"gradient", memory.gradient},
          {"training", memory.training}};
}

}  // namespace

DescribeResult run_describe(const DescribeOptions& options) {
  check_folder_of(options.svg);
  DescribeResult result;
  result.spec = options.spec;
  if (!options.model.empty()) {
    const network::Model model = network::load_model(options.model);
    result.spec = model.parameters.spec();
    result.info = model.info;
  }
  result.layers = network::layers(result.spec);
  result.parameters = network::parameter_count(result.spec);
  result.multiply_adds = network::multiply_adds(result.spec);
  result.batch = options.batch;
  result.memory = *engine::memory_need({}, result.spec, options.batch);
  result.memory_bfloat16 =
      *engine::memory_need({.precision = engine::Precision::bfloat16}, result.spec, options.batch);
  if (!options.svg.empty())
    write_file(options.svg, report::network_drawing(network::make_graph(result.spec), result.spec.input(1),
                                                    title(result.spec)));
  return result;
}

nlohmann::json to_json(const DescribeResult& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const network::LayerInfo& layer : result.layers)
    rows.push_back({{"name", layer.name},
                    {"kind", layer.kind},
                    {"output", {layer.output.c, layer.output.h, layer.output.w}},
                    {"parameters", layer.parameters},
                    {"multiply_adds", layer.multiply_adds}});
  return {{"spec", to_json(result.spec)},
          {"layers", rows},
          {"parameters", result.parameters},
          {"multiply_adds", result.multiply_adds},
          {"batch", result.batch},
          {"memory_bytes", to_json(result.memory)},
          {"memory_bytes_bfloat16", to_json(result.memory_bfloat16)},
          {"info", result.info}};
}

void print(const DescribeResult& result) {
  fmt::print("{}\n\n", title(result.spec));
  constexpr const char* kRow = "{:<24}{:<20}{:>14}{:>14}{:>16}\n";
  fmt::print(kRow, "layer", "what", "output", "parameters", "multiply-adds");
  for (const network::LayerInfo& layer : result.layers)
    fmt::print(kRow, layer.name, layer.kind, shape_text(layer.output), grouped(layer.parameters),
               grouped(layer.multiply_adds));
  fmt::print(kRow, "total", "", "", grouped(result.parameters), grouped(result.multiply_adds));
  fmt::print("\nmemory for {:<13}{:>14}{:>14}{:>14}\n", fmt::format("{} images", result.batch), "energies",
             "gradients", "training");
  const auto row = [](const char* precision, const engine::MemoryNeed& memory) {
    fmt::print("{:<24}{:>14}{:>14}{:>14}\n", precision, memory_text(memory.weights + memory.energy),
               memory_text(memory.weights + memory.gradient),
               memory_text(memory.training_weights + memory.training));
  };
  row("float32", result.memory);
  row("bfloat16", result.memory_bfloat16);
  if (!result.info.empty()) fmt::print("\nnotes in the file: {}\n", json_text(result.info));
}

}  // namespace mdsm::app
