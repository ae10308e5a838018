#include "train/presets.h"

#include <algorithm>

namespace mdsm::train {
namespace {

using Values = std::vector<std::pair<const char*, const char*>>;

const NoiseOptions kGrey{.kind = NoiseKind::geometric, .sigma_min = 0.1, .sigma_max = 3};
const NoiseOptions kColour{.kind = NoiseKind::linear, .sigma_min = 0.05, .sigma_max = 1.2};

bool is_grey(Preset preset) { return preset == Preset::mnist || preset == Preset::fashion_mnist; }

// That of the option, or of the data set's name; CelebA is no such name, but a folder may have it.
Preset preset_of(Preset preset, const std::string& data) {
  if (preset != Preset::none) return preset;
  const std::string name = data.substr(0, data.find(':'));
  for (const auto& one : enum_names(Preset{}))
    if (name == one.name) return one.value;
  return Preset::none;
}

// All but the noise. The learning rate of MNIST and Fashion-MNIST is that of the authors' script.
Values values_of(Preset preset) {
  if (is_grey(preset)) return {{"net", "res12"}, {"width", "64"}, {"steps", "100000"}, {"lr", "1e-4"}};
  Values values = {{"net", "res18"}, {"width", "128"},           {"steps", "300000"},
                   {"lr", "5e-5"},   {"snapshot-every", "5000"}, {"save-every", "1000"}};
  // Aligned CelebA images are 178x218; the middle 140x140 holds the face.
  if (preset == Preset::celeba)
    values.insert(values.end(), {{"flip", "true"}, {"crop", "140"}, {"resize", "32"}});
  return values;
}

}  // namespace

NoiseOptions preset_noise(Preset preset, const std::string& data) {
  const Preset meant = preset_of(preset, data);
  return meant == Preset::none ? NoiseOptions() : is_grey(meant) ? kGrey : kColour;
}

void apply_preset(OptionSet& set, Preset preset, const std::string& data) {
  if (preset_of(preset, data) != Preset::none) {
    const NoiseOptions noise = preset_noise(preset, data);
    set.set_default("noise", to_string(noise.kind));
    set.set_default("sigma-min", fmt::format("{}", noise.sigma_min));
    set.set_default("sigma-max", fmt::format("{}", noise.sigma_max));
  }
  if (preset == Preset::none) return;
  for (const auto& [name, value] : values_of(preset)) set.set_default(name, value);
  // CelebA has no known place or format of its own; its folder must be named.
  if (preset != Preset::celeba) set.set_default("data", to_string(preset));
}

}  // namespace mdsm::train
