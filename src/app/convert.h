// What `mdsm import` and `mdsm export` do: PyTorch state dicts into model files, and model files into state
// dicts, ONNX files or smaller model files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "io/safetensors.h"
#include "network/state_dict.h"

namespace mdsm::app {

struct ImportOptions {
  std::string input, output;
  std::string preset;  // noted in the file unless empty
  network::NotInDict more;
  std::vector<std::string> unet_only;  // options given that the other networks do not have
  bool force = false;                  // replace an existing file
};

struct ImportResult {
  network::Spec spec;
  std::vector<std::string> skipped;  // entries of the state dict that the network does not use
  std::string written;
};

struct ExportOptions {
  std::string input, output;  // the end of the output's name says what it is
  bool half = false;          // weights of a model file as float16
  bool hub = false;           // the output is a folder for the Hugging Face hub
  std::string sampling;       // defaults of mdsm sample for a model file (sample/model_defaults.h)
  bool force = false;
};

enum class ExportFormat { model_file, state_dict, onnx, hub };
constexpr auto enum_names(ExportFormat) {
  return names_of<ExportFormat>({{ExportFormat::model_file, "model-file"},
                                 {ExportFormat::state_dict, "state-dict"},
                                 {ExportFormat::onnx, "onnx"},
                                 {ExportFormat::hub, "hub"}});
}

struct ExportResult {
  ExportFormat format = ExportFormat::model_file;
  io::StoredType type = io::StoredType::float32;
  size_t tensors = 0;
  int64_t values = 0;
  bool bowl = false;    // the model has one, which only mdsm and mdsm_torch.py add
  bool energy = false;  // it is one
  std::string written;
};

ImportResult run_import(const ImportOptions& options);
ExportResult run_export(const ExportOptions& options);
nlohmann::json to_json(const ImportResult& result);
nlohmann::json to_json(const ExportResult& result);
void print(const ImportResult& result);
void print(const ExportResult& result);

}  // namespace mdsm::app
