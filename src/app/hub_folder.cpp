#include "app/hub_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/output.h"
#include "app/version.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

json config(const network::Spec& spec) {
  json values = network::to_json(spec);
  values["model_type"] = "mdsm";
  return values;
}

std::string card(const network::Model& model, const std::string& name, io::StoredType type) {
  const network::Spec& spec = model.parameters.spec();
  const std::string title = fs::path(name).stem().string(),
                    images = fmt::format("{}x{}x{}", spec.channels, spec.size, spec.size);
  const bool energy = network::has_energy(spec.head);
  std::string text =
      "---\nlibrary_name: mdsm\ntags:\n- energy-based-model\n- denoising-score-matching\n---\n\n";
  text += fmt::format("# {}\n\n{} of images, trained by multiscale denoising score matching with mdsm.\n\n",
                      title, energy ? "An energy-based model" : "A blind denoiser");
  text += fmt::format("| | |\n|---|---|\n| network | {} of width {}, head {} |\n| parameters | {} ({}) |\n",
                      to_string(spec.network), spec.width, to_string(spec.head),
                      grouped(network::parameter_count(spec)),
                      type == io::StoredType::float16 ? "float16" : "float32");
  text += fmt::format("| images | {} (channels, height, width), values in [0,1]{} |\n| sigma0 | {:g} |\n",
                      images, spec.any_size() ? "; any height and width" : "", spec.sigma0);
  for (const auto& [key, value] : model.info.items())
    if (value.is_primitive())
      text += fmt::format("| {} | {} |\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  text += fmt::format("\nWith mdsm, this folder's `{}` is a model file:\n\n    mdsm {} --model {}\n\n",
                      kHubWeights, energy ? "sample" : "denoise picture.png", kHubWeights);
  text += "With PyTorch and `mdsm_torch.py`, which comes with mdsm:\n\n    model = mdsm_torch.load(\".\")\n";
  if (energy) text += "    energies = model(x)          # x (N,C,H,W): (N)\n";
  text += "    clean = model.denoise(x)     # one jump to the denoised image\n\n";
  return text + fmt::format("Written by {}.\n", version_line());
}

}  // namespace

void write_hub_folder(const fs::path& folder, const network::Model& model, const std::string& name,
                      io::StoredType type) {
  make_folder(folder);
  network::save_model(folder / kHubWeights, model.parameters, model.info, type);
  write_json(folder / kHubConfig, config(model.parameters.spec()), 2);
  write_file(folder / kHubCard, card(model, name, type));
}

}  // namespace mdsm::app
