// The objectives by name. Those that ship stand in one list in objectives.cpp; a program of one's own adds
// its rows with objectives().add() before the command line runs, and --objective, help, configuration keys,
// the refusal of other objectives' options, checkpoints and statistics follow.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/registry.h"
#include "train/objective.h"

namespace mdsm::train {

struct ObjectiveRow {
  std::string name;     // the word for --objective
  std::string meaning;  // one line for its help
  std::function<std::unique_ptr<Objective>()> make;
};

Registry<ObjectiveRow>& objectives();

// With its default options. Throws a usage error for an unknown name.
std::unique_ptr<Objective> make_objective(std::string_view name);

// --objective and the options of all objectives; one object of each, of which the named one is used.
class ObjectiveChoice {
 public:
  ObjectiveChoice();

  void declare(OptionSet& set);
  // After parsing: refuses options of other objectives and lets the chosen one resolve its own.
  void resolve(OptionSet& set);

  Objective& chosen() const;
  std::vector<std::string> may_change() const;  // of any of them

 private:
  std::string name_;
  std::vector<std::unique_ptr<Objective>> all_;
};

}  // namespace mdsm::train
