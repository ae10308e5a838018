#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "app/network_options.h"
#include "app/output.h"
#include "core/error.h"
#include "core/memory.h"
#include "engine/registry/registry.h"
#include "network/layers.h"
#include "network/model_file.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

class Describe : public Command {
 public:
  const char* name() const override { return "describe"; }
  const char* summary() const override { return "Print a network's layers, parameters, cost and memory"; }
  void declare(OptionSet& options) override {
    options.group("Network");
    options.add("model", model_, "describe the network of this model file, run folder or bundled model")
        .meta("MODEL");
    network_.declare(options);
    options.group("Output");
    options.add("batch", batch_, "images a batch, for the memory").range(1, 1'000'000);
    options.add("json", json_, "print JSON for machines").command_line_only();
    options.example("mdsm describe --net res18 --width 128 --channels 3");
  }

  int run(OptionSet& options) override {
    if (!model_.empty()) {
      network_.exclude(options, "model");
      const network::Model model = network::load_model(model_);
      spec_ = model.parameters.spec();
      info_ = model.info;
    } else {
      spec_ = network_.spec();
    }
    memory_ = *engine::memory_need({}, spec_, batch_);
    json_ ? print_json() : print_table();
    return 0;
  }

 private:
  void print_table() const {
    fmt::print("{}, width {}, images {}x{}x{}, {} head, sigma0 {:g}, bowl {:g}\n\n", to_string(spec_.network),
               spec_.width, spec_.channels, spec_.size, spec_.size, to_string(spec_.head), spec_.sigma0,
               spec_.bowl);
    constexpr const char* kRow = "{:<24}{:<20}{:>14}{:>14}{:>16}\n";
    fmt::print(kRow, "layer", "what", "output", "parameters", "multiply-adds");
    for (const network::LayerInfo& layer : network::layers(spec_))
      fmt::print(kRow, layer.name, layer.kind, shape_text(layer.output), app::grouped(layer.parameters),
                 app::grouped(layer.multiply_adds));
    fmt::print(kRow, "total", "", "", app::grouped(network::parameter_count(spec_)), app::grouped(network::multiply_adds(spec_)));
    fmt::print("\nmemory      {} for weights and optimiser, {} for training on {} images\n",
               bytes_text(memory_.parameters),
               bytes_text(memory_.training), batch_);
    fmt::print("            {} for gradients, {} for energies of {} images\n",
               bytes_text(memory_.gradient),
               bytes_text(memory_.energy), batch_);
    if (!info_.empty()) fmt::print("\nnotes in the file: {}\n", info_.dump());
  }

  static std::string shape_text(const Shape& shape) {
    return fmt::format("{}x{}x{}", shape.c, shape.h, shape.w);
  }

  void print_json() const {
    json rows = json::array();
    for (const network::LayerInfo& layer : network::layers(spec_))
      rows.push_back({{"name", layer.name},
                      {"kind", layer.kind},
                      {"output", {layer.output.c, layer.output.h, layer.output.w}},
                      {"parameters", layer.parameters},
                      {"multiply_adds", layer.multiply_adds}});
    const json result = {{"spec", to_json(spec_)},
                         {"layers", rows},
                         {"parameters", network::parameter_count(spec_)},
                         {"multiply_adds", network::multiply_adds(spec_)},
                         {"batch", batch_},
                         {"memory_bytes",
                          {{"parameters", memory_.parameters},
                           {"energy", memory_.energy},
                           {"gradient", memory_.gradient},
                           {"training", memory_.training}}},
                         {"info", info_}};
    fmt::print("{}\n", result.dump(2));
  }

  network::Spec spec_;
  engine::MemoryNeed memory_;
  app::NetworkOptions network_;
  std::string model_;
  int64_t batch_ = 128;
  bool json_ = false;
  json info_ = json::object();
};

}  // namespace

std::unique_ptr<Command> make_describe() { return std::make_unique<Describe>(); }

}  // namespace mdsm::cli
