#include "train/objectives.h"

#include <algorithm>

#include "train/denoising.h"
#include "train/likelihood.h"

namespace mdsm::train {

// The first one is the default, and the one whose values options.json shows for options that are not used.
Registry<ObjectiveRow>& objectives() {
  static Registry<ObjectiveRow> table(
      "objective",
      {{"mdsm", "denoising at many noise levels",
        [] { return std::make_unique<DenoisingObjective>(Levels::many); }},
       {"single", "at the one of --sigma", [] { return std::make_unique<DenoisingObjective>(Levels::one); }},
       {"ml", "maximum likelihood", [] { return std::make_unique<LikelihoodObjective>(); }}});
  return table;
}

std::unique_ptr<Objective> make_objective(std::string_view name) {
  const ObjectiveRow& row = objectives().at(name);
  std::unique_ptr<Objective> objective = row.make();
  objective->name_ = row.name;
  return objective;
}

ObjectiveChoice::ObjectiveChoice() {
  for (const std::string& name : objectives().names()) all_.push_back(make_objective(name));
  name_ = all_.front()->name();
}

void ObjectiveChoice::declare(OptionSet& set) {
  std::vector<std::string> names, meanings;
  for (const auto& objective : all_) {
    names.push_back(objective->name());
    meanings.push_back(objective->name() + ": " + objectives().at(objective->name()).meaning);
  }
  set.group("Objective").add("objective", name_, fmt::format("{}", fmt::join(meanings, "; "))).choices(names);
  for (const auto& objective : all_) {
    set.group("Objective " + objective->name()).alternative("objective", objective->name());
    objective->declare(set);
    set.common();
  }
}

void ObjectiveChoice::resolve(OptionSet& set) {
  set.choose(name_);
  chosen().resolve(set);
}

Objective& ObjectiveChoice::chosen() const {
  return **std::ranges::find_if(all_, [&](const auto& objective) { return objective->name() == name_; });
}

std::vector<std::string> ObjectiveChoice::may_change() const {
  std::vector<std::string> names;
  for (const auto& objective : all_) std::ranges::copy(objective->may_change(), std::back_inserter(names));
  return names;
}

}  // namespace mdsm::train
