#include "app/convert.h"

#include <algorithm>

#include "app/hub_folder.h"
#include "app/output.h"
#include "app/version.h"
#include "core/error.h"
#include "network/model_file.h"
#include "network/onnx.h"
#include "network/state_dict.h"
#include "sample/model_defaults.h"

namespace mdsm::app {
namespace {

// What a state dict of the paper's networks says itself, nobody else may say.
void check_unet_only(const ImportOptions& options, network::Network found) {
  if (found == network::Network::unet || options.unet_only.empty()) return;
  fail_usage("leave it out", "--{} is for unet; {} is {}, whose names and shapes say it",
             options.unet_only.front(), options.input, to_string(found));
}

}  // namespace

ImportResult run_import(const ImportOptions& options) {
  check_output(options.output, options.force);
  const network::ImportedParameters imported = network::parameters_from(
      network::read_state_dict(fs::path(options.input)), options.more, options.input);
  check_unet_only(options, imported.parameters.spec().network);
  nlohmann::json info = {{"imported_from", fs::path(options.input).filename().string()}};
  if (!options.preset.empty()) info["preset"] = options.preset;
  network::save_model(options.output, imported.parameters, info);
  return {imported.parameters.spec(), imported.skipped, options.output};
}

namespace {

ExportFormat format_of(const ExportOptions& options) {
  const fs::path extension = fs::path(options.output).extension();
  constexpr std::string_view kKnown[] = {"", ".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".onnx"};
  if (!options.hub && std::ranges::count(kKnown, extension.string()) == 0)
    fail_usage("end it in .pt (PyTorch), .onnx or .safetensors, or add --hub for a folder",
               "{}: the end of the name says what to write, and '{}' is unknown", options.output,
               extension.string());
  return options.hub                   ? ExportFormat::hub
         : extension == ".safetensors" ? ExportFormat::model_file
         : extension == ".onnx"        ? ExportFormat::onnx
                                       : ExportFormat::state_dict;
}

void write(const ExportOptions& options, ExportFormat format, const network::Model& model,
           io::StoredType type) {
  switch (format) {
    case ExportFormat::model_file:
      return network::save_model(options.output, model.parameters, model.info, type);
    case ExportFormat::hub:
      return write_hub_folder(options.output, model, options.input, type);
    case ExportFormat::onnx:
      return network::write_onnx(options.output, model.parameters, version_line());
    case ExportFormat::state_dict:
      return network::write_state_dict(options.output, model.parameters);
  }
}

}  // namespace

ExportResult run_export(const ExportOptions& options) {
  ExportResult result;
  result.written = options.output;
  result.type = options.half ? io::StoredType::float16 : io::StoredType::float32;
  result.format = format_of(options);
  if (options.hub)
    check_outputs(options.output, {kHubConfig, kHubWeights, kHubCard}, options.force);
  else
    check_output(options.output, options.force);
  if (options.half && (result.format == ExportFormat::state_dict || result.format == ExportFormat::onnx))
    fail_usage("name a file that ends in .safetensors", "--half writes a model file, not {}", options.output);
  if (!options.sampling.empty() && result.format != ExportFormat::model_file)
    fail_usage("name a file that ends in .safetensors", "--sampling is for model files, not for {}",
               options.output);
  network::Model model = network::load_model(options.input);
  if (!options.sampling.empty()) {
    nlohmann::json& sampling = model.info["sampling"];
    if (!sampling.is_object()) sampling = nlohmann::json::object();  // a file may say anything, or nothing
    sampling.update(sample::model_defaults(options.sampling, "--sampling"));
  }
  result.tensors = model.parameters.layout().size();
  result.values = network::parameter_count(model.parameters.spec());
  result.bowl = model.parameters.spec().bowl != 0;
  result.energy = network::has_energy(model.parameters.spec().head);
  write(options, result.format, model, result.type);
  return result;
}

nlohmann::json to_json(const ImportResult& result) {
  return {{"network", to_json(result.spec)},
          {"parameters", network::parameter_count(result.spec)},
          {"skipped", result.skipped},
          {"written", result.written}};
}

nlohmann::json to_json(const ExportResult& result) {
  return {{"format", to_string(result.format)},
          {"half", result.type == io::StoredType::float16},
          {"tensors", result.tensors},
          {"values", result.values},
          {"bowl", result.bowl},
          {"energy", result.energy},
          {"written", result.written}};
}

void print(const ImportResult& result) {
  const network::Spec& spec = result.spec;
  fmt::print("network     {}\nwidth       {}\nchannels    {}\nsize        {}\nhead        {}\n",
             to_string(spec.network), spec.width, spec.channels, spec.size, to_string(spec.head));
  fmt::print("sigma0      {:g}\nparameters  {}\n", spec.sigma0, grouped(network::parameter_count(spec)));
  constexpr size_t kShown = 4;
  const auto& skipped = result.skipped;
  fmt::print("skipped     {} unused entries", skipped.size());
  if (!skipped.empty())
    fmt::print(" ({}{})",
               fmt::join(skipped.begin(), skipped.begin() + std::min(kShown, skipped.size()), ", "),
               skipped.size() > kShown ? ", ..." : "");
  fmt::print("\nwritten     {}\n", result.written);
}

void print(const ExportResult& result) {
  if (result.format == ExportFormat::onnx)
    fmt::print("{}: {} values; input x, {} denoised\n", result.written, grouped(result.values),
               result.energy ? "outputs energy and" : "output");
  else if (result.format != ExportFormat::state_dict)
    fmt::print("{}: {} values as {}\n", result.written, grouped(result.values),
               result.type == io::StoredType::float16 ? "float16" : "float32");
  else
    fmt::print(
        "{}: {} tensors, {} values; load it with torch.load, then load_state_dict(..., strict=False)\n",
        result.written, result.tensors, grouped(result.values));
  if (result.format == ExportFormat::state_dict && result.bowl)
    fmt::print(
        "the model has a bowl, in the entry '{}': python/mdsm_torch.py adds it, the authors' code does not\n",
        network::kBowlEntry);
}

}  // namespace mdsm::app
