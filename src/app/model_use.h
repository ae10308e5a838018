// What commands that run a network on images share: --model, --out and the engine; loading, memory, and the
// text inside the pictures they write.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/options.h"
#include "engine/registry/registry.h"
#include "network/model_file.h"

namespace mdsm::app {

struct ModelUse {
  std::string model;  // path as given
  engine::EngineOptions engine;
  int64_t threads = 0, batch = 64;

  void declare_model(OptionSet& options);
  void declare_engine(OptionSet& options);  // with --batch
  network::Model load() const;              // a clear error without --model
  // Sets the threads and makes the engine; refuses a batch that does not fit the memory.
  std::unique_ptr<engine::TrainableEnergy> make(const network::Model& loaded, int64_t largest_batch) const;
};

// Names of the models that come with the program, without the classifiers; the text has commas between.
std::vector<std::string> bundled_models();
std::string bundled_models_text();

// Path, network and content of the model, for files that say how they were made.
nlohmann::json model_parameters(const std::string& path, const network::Model& model);

// Text chunks of a picture: the program, the parameters as JSON, and what else is to be said.
std::map<std::string, std::string> picture_text(const nlohmann::json& parameters,
                                                std::map<std::string, std::string> more = {});

// JSON for standard output; file names in it that are no UTF-8 do not stop it.
void print_json(const nlohmann::json& values);

}  // namespace mdsm::app
