// Runs the steps of recipes one after the other, each as a call of this program, and remembers what is done:
// the same call again goes on where it stopped. Layout of the output folder:
//   RECIPE/STEP/...         what the step writes
//   RECIPE/STEP.out, .log   its standard output and error
//   RECIPE/STEP.done.json   its command and time, once it has ended well
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reproduce/variables.h"

namespace mdsm::reproduce {

struct StepOutcome {
  std::string name, command;  // the command as one types it
  double seconds = 0;
};

struct Outcome {
  const Recipe* recipe = nullptr;
  bool done = false;
  std::string why_not;  // data that is missing, or how a step ended
  std::vector<StepOutcome> steps;
};

struct RunnerHooks {
  std::function<void(const std::string& line)> say;  // one line for people
  const std::atomic<bool>* stop = nullptr;
};

// The words of a shell command, quoted where needed.
std::string command_text(const std::vector<std::string>& words);

// Runs what is not done yet. force: do steps again whose command has changed. A step that fails ends the
// recipe, not the program; a stop that was asked for ends it with an error that says how to go on.
Outcome run_recipe(const Recipe& recipe, const ReproduceOptions& options, bool force,
                   const RunnerHooks& hooks);

// What the results of a recipe say; no value where the file or the number is not there.
std::optional<double> result_number(const Recipe& recipe, const ReproduceOptions& options,
                                    const std::string& reference);

}  // namespace mdsm::reproduce
