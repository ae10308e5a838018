// What `mdsm reproduce` does: lists the recipes, shows what they would run, or runs them and writes
// report.html. The pieces (recipes, variables, runner, report) are those of the folder reproduce.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reproduce/runner.h"

namespace mdsm::app {

struct ReproduceOptions {
  reproduce::ReproduceOptions run;              // its `out` is absolute
  fs::path recipes;                             // folder; empty: the one that comes with the program
  std::vector<std::string> experiments;         // names of recipes, or "all"
  std::vector<std::string> command;             // the call as typed, for the report
  bool force = false;                           // do steps again that another command has done
  std::function<void(const std::string&)> say;  // a line as each step starts and ends; may be empty
};

// A recipe as it would be run, in order; without commands where data is missing or only a list was asked for.
struct PlannedRecipe {
  std::string name, title;
  std::string missing;  // why it cannot run; empty if it can
  std::vector<std::string> commands;
};

struct ReproduceResult {
  fs::path report;
  size_t experiments = 0;
  std::vector<std::string> failed, without_data;
  std::string why_not;  // why the last one was not run to the end
};

std::vector<PlannedRecipe> list_recipes(const ReproduceOptions& options);
std::vector<PlannedRecipe> plan_recipes(const ReproduceOptions& options);
// A recipe that fails does not end the others.
ReproduceResult run_reproduce(const ReproduceOptions& options, const std::atomic<bool>& stop);

nlohmann::json to_json(const std::vector<PlannedRecipe>& recipes);
nlohmann::json to_json(const ReproduceResult& result);
void print_list(const std::vector<PlannedRecipe>& recipes);
void print_plan(const std::vector<PlannedRecipe>& recipes);
void print(const ReproduceResult& result);
// Throws when an experiment failed, or none had its data.
void require_success(const ReproduceResult& result);

}  // namespace mdsm::app
