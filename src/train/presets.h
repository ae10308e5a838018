// The paper's settings for its data sets: --preset, and the noise of a data set that has a preset of its own
// name.
#pragma once

#include <string>

#include "core/enum_names.h"
#include "core/options.h"
#include "train/noise.h"

namespace mdsm::train {

enum class Preset { none, mnist, fashion_mnist, cifar10, celeba };
constexpr auto enum_names(Preset) {
  return names_of<Preset>({{Preset::none, "none"},
                           {Preset::mnist, "mnist"},
                           {Preset::fashion_mnist, "fashion-mnist"},
                           {Preset::cifar10, "cifar10"},
                           {Preset::celeba, "celeba"}});
}

// Sets what the user has not given: everything of the preset, or, without one, only the noise of a data set
// that has one.
void apply_preset(OptionSet& set, Preset preset, const std::string& data);

// The noise that the two imply, whatever the objective; the usual one where they imply none.
NoiseOptions preset_noise(Preset preset, const std::string& data);

}  // namespace mdsm::train
