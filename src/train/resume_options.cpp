#include "train/resume_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"

namespace mdsm::train {
namespace {

using nlohmann::json;

// All else would make it another run.
bool may_change(const std::string& name, const ObjectiveChoice& choice) {
  static const std::vector<std::string> names = {
      "steps",   "lr",          "lr-final",    "lr-schedule", "lr-hold",       "warmup",
      "clip",    "micro-batch", "stats-every", "save-every",  "preview-every", "snapshot-every",
      "engine",  "device",      "exact",       "precision",   "threads",       "allow-reorder",
      "overlap", "sampling",    "weight-decay"};
  const std::vector<std::string> more = choice.may_change();
  return std::ranges::count(names, name) > 0 || std::ranges::count(more, name) > 0;
}

// What the fingerprint of the first version was taken of. It stays as it is; newer options are told by not
// being here.
bool of_first_version(const std::string& name) {
  static const std::vector<std::string> names = {
      "batch", "beta1",     "beta2",     "colour", "crop",   "data",         "desc",   "ema",    "flip",
      "head",  "limit",     "net",       "noise",  "outdir", "pad",          "preset", "resize", "seed",
      "sigma", "sigma-max", "sigma-min", "sigma0", "split",  "weight-power", "width"};
  return std::ranges::count(names, name) > 0;
}

}  // namespace

void apply_recorded(OptionSet& set, const ObjectiveChoice& choice, const json& written, const json& defaults,
                    const std::string& where) {
  const json recorded = set.renamed(written);
  const json objective = recorded.value("objective", defaults.at("objective"));
  set.choose(
      objectives().at(objective.is_string() ? objective.get<std::string>() : json_text(objective)).name);
  const json now = set.to_json();
  json changes = json::object();
  for (const std::string& name : set.given_names()) {
    if (!now.contains(name)) continue;  // command line only
    const json& had = recorded.contains(name) ? recorded.at(name) : defaults.at(name);
    if (had == now.at(name)) continue;
    if (!may_change(name, choice))
      fail_usage("start a new run for that", "--{} cannot change on resume: the run has {}, asked for {}",
                 name, json_text(had), json_text(now.at(name)));
    changes[name] = now.at(name);
  }
  set.from_json(recorded, where);
  set.from_json(changes, where);
}

std::string options_hash(const json& resolved, const json& defaults, const ObjectiveChoice& choice) {
  json fixed = json::object();
  for (const auto& [name, value] : resolved.items()) {
    const std::string first = name == "out" ? "outdir" : name;  // its name when fingerprints began
    const bool as_before = !of_first_version(first) && defaults.contains(name) && defaults.at(name) == value;
    if (!may_change(name, choice) && !as_before) fixed[first] = value;
  }
  const std::string text = json_text(fixed);
  return content_hash(text.data(), text.size());
}

}  // namespace mdsm::train
