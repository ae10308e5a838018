// What a run has where the user says nothing. --recipe quick is what docs/recipes.md found best for little
// compute,
// --recipe paper the paper's settings for its data sets, --recipe none what the options themselves have.
// --preset names the data set that is meant where the name of --data does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/options.h"
#include "network/spec.h"
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

enum class Recipe { quick, paper, none };
constexpr auto enum_names(Recipe) {
  return names_of<Recipe>({{Recipe::quick, "quick"}, {Recipe::paper, "paper"}, {Recipe::none, "none"}});
}

// Options that a recipe decides about.
std::vector<std::string> recipe_options();

// Sets what the user has not given. Without a recipe that is only the noise of a data set of the paper's.
// start: the network of the model that the run starts from.
void apply_recipe(OptionSet& set, Recipe recipe, Preset preset, const std::string& data,
                  std::optional<network::Network> start = {});

// The noise that the two imply, whatever the objective; the usual one where they imply none.
NoiseOptions preset_noise(Preset preset, const std::string& data);

}  // namespace mdsm::train
