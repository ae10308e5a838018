// A model as the Hugging Face hub lays models out: config.json, model.safetensors and a model card.
#pragma once

#include "io/safetensors.h"
#include "network/model_file.h"

namespace mdsm::app {

constexpr const char* kHubConfig = "config.json";
constexpr const char* kHubWeights = "model.safetensors";
constexpr const char* kHubCard = "README.md";

// name: of the model, for the card. The weights are a model file, which mdsm reads as it is.
void write_hub_folder(const fs::path& folder, const network::Model& model, const std::string& name,
                      io::StoredType type);

}  // namespace mdsm::app
