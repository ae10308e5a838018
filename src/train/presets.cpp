#include "train/presets.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/json.h"

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

// The paper's, all but the noise. The learning rate of MNIST and Fashion-MNIST is that of the authors'
// script.
Values values_of(Preset preset) {
  if (is_grey(preset)) return {{"net", "res12"}, {"width", "64"}, {"steps", "100000"}, {"lr", "1e-4"}};
  Values values = {{"net", "res18"}, {"width", "128"},           {"steps", "300000"},
                   {"lr", "5e-5"},   {"snapshot-every", "5000"}, {"save-every", "1000"}};
  // Aligned CelebA images are 178x218; the middle 140x140 holds the face.
  if (preset == Preset::celeba)
    values.insert(values.end(), {{"flip", "true"}, {"crop", "140"}, {"resize", "32"}});
  return values;
}

// configs/quick has the same as files (a test compares). A data set has the first row of its name and of the
// kind of network that is asked for, if any; the rows without a name are for all other images.
struct Quick {
  const char *data, *net, *width, *levels, *pad, *sigma_min, *batch, *steps, *lr, *warmup, *clip;
  const char* sampling = "";

  bool is_unet() const { return std::string_view(net) == to_string(network::Network::unet); }
};
constexpr Quick kQuick[] = {
    {"fashion-mnist", "unet", "32", "3", "0", "0.1", "32", "5000", "2e-3", "300", "200", "hot=14"},
    {"fashion-mnist", "res12", "16", "4", "-1", "0.1", "64", "13000", "2e-3", "500", "200"},
    {"mnist", "unet", "32", "3", "0", "0.1", "32", "12000", "2e-3", "300", "200", "churn=16"},
    {"mnist", "res12", "32", "4", "-1", "0.1", "64", "18000", "1.5e-3", "800", "200"},
    {"stacked-mnist", "res12", "32", "4", "-1", "0.1", "32", "9000", "1.5e-3", "600", "300"},
    {"", "unet", "32", "4", "-1", "0.05", "32", "6000", "1.5e-3", "300", "300"},
    {"", "res12", "32", "4", "-1", "0.05", "32", "4000", "1e-3", "500", "300"},
};

std::string quick_name(Preset preset, const std::string& data) {
  return preset == Preset::none ? data.substr(0, data.find(':')) : std::string(to_string(preset));
}

const Quick& quick_of(const std::string& name, std::optional<network::Network> asked) {
  const auto row = [&](std::string_view of) {
    return std::ranges::find_if(kQuick, [&](const Quick& one) {
      return of == one.data && (!asked || (*asked == network::Network::unet) == one.is_unet());
    });
  };
  const auto found = row(name);
  return found == std::end(kQuick) ? *row("") : *found;
}

int64_t number(const nlohmann::json& options, const char* name) {
  return json_value<int64_t>(options.at(name));
}

// What the user's options, or the model that a run starts from, say about the network; what only the paper's
// have asks for those.
std::optional<network::Network> asked_network(const OptionSet& set, std::optional<network::Network> start) {
  const nlohmann::json now = set.to_json();
  if (set.given("net")) return from_name<network::Network>(now.at("net").get<std::string>(), "--net");
  if (start) return start;
  const bool its_head = now.at("head") == to_string(network::Head::quadratic) ||
                        now.at("head") == to_string(network::Head::linear);
  if (set.given("bowl") || (set.given("head") && its_head)) return network::Network::res12;
  return std::nullopt;
}

// Steps that the user gave shorten the warmup. The bowl is for the paper's networks; unet has its own.
void apply_quick(OptionSet& set, const std::string& name, const Quick& quick) {
  const Values values = {{"net", quick.net},       {"width", quick.width},
                         {"levels", quick.levels}, {"pad", quick.pad},
                         {"noise", "geometric"},   {"sigma-min", quick.sigma_min},
                         {"sigma-max", "3"},       {"weight-power", "1"},
                         {"batch", quick.batch},   {"steps", quick.steps},
                         {"lr", quick.lr},         {"warmup", quick.warmup},
                         {"clip", quick.clip},     {"sampling", quick.sampling}};
  for (const auto& [option, value] : values) set.set_default(option, value);
  const nlohmann::json now = set.to_json();
  if (set.given("steps"))
    set.set_default("warmup", std::to_string(std::min(number(now, "warmup"), number(now, "steps") / 10)));
  if (!quick.is_unet()) set.set_default("bowl", "1");
  if (name == "cifar10" || name == "celeba") set.set_default("flip", "true");
  if (name == "celeba") set.set_default("crop", "140"), set.set_default("resize", "32");
}

void apply_noise(OptionSet& set, const NoiseOptions& noise) {
  set.set_default("noise", to_string(noise.kind));
  set.set_default("sigma-min", fmt::format("{}", noise.sigma_min));
  set.set_default("sigma-max", fmt::format("{}", noise.sigma_max));
}

}  // namespace

NoiseOptions preset_noise(Preset preset, const std::string& data) {
  const Preset meant = preset_of(preset, data);
  return meant == Preset::none ? NoiseOptions() : is_grey(meant) ? kGrey : kColour;
}

std::vector<std::string> recipe_options() {
  return {"net",          "width", "levels", "pad", "bowl",   "noise", "sigma-min", "sigma-max",
          "weight-power", "batch", "steps",  "lr",  "warmup", "clip",  "sampling"};
}

void apply_recipe(OptionSet& set, Recipe recipe, Preset preset, const std::string& data,
                  std::optional<network::Network> start) {
  const Preset meant = preset_of(preset, data);
  // CelebA has no known place or format of its own; its folder must be named.
  if (preset != Preset::none && preset != Preset::celeba) set.set_default("data", to_string(preset));
  if (recipe == Recipe::quick) {
    const std::string name = quick_name(preset, data);
    return apply_quick(set, name, quick_of(name, asked_network(set, start)));
  }
  if (meant == Preset::none) return;
  apply_noise(set, preset_noise(preset, data));
  if (recipe == Recipe::none && preset == Preset::none) return;
  set.set_default("preset", to_string(meant));
  for (const auto& [name, value] : values_of(meant)) set.set_default(name, value);
}

}  // namespace mdsm::train
