#include "app/reproduce.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/version.h"
#include "core/error.h"
#include "core/machine.h"
#include "core/resources.h"
#include "reproduce/report.h"

namespace mdsm::app {
namespace {

using reproduce::Recipe;
using Recipes = std::map<std::string, Recipe>;

Recipes read_recipes(const ReproduceOptions& options) {
  if (!options.recipes.empty()) return reproduce::read_recipes(options.recipes);
  if (const auto found = find_resource("configs/reproduce")) return reproduce::read_recipes(*found);
  fail_usage("name it with --recipes", "the folder configs/reproduce did not come with this program");
}

std::vector<const Recipe*> chosen(const Recipes& recipes, std::vector<std::string> names) {
  if (std::ranges::find(names, "all") != names.end()) {
    names.clear();
    for (const auto& [name, recipe] : recipes) names.push_back(name);
  }
  return reproduce::in_order(recipes, names);
}

std::string planned_command(const reproduce::Variables& variables, const reproduce::RecipeStep& step) {
  std::vector<std::string> words;
  for (const std::string& word : step.words) {
    words.push_back(variables.expand(word));
    if (words.back().empty()) words.back() = "RUN";  // made by an earlier step
  }
  return reproduce::command_text(words);
}

reproduce::ReportAbout about(const ReproduceOptions& options) {
  const std::string version = version_text();
  return {version.substr(0, version.find('\n')),
          fmt::format("{}, {} threads", cpu_model(), std::thread::hardware_concurrency()), today(),
          reproduce::command_text(options.command)};
}

}  // namespace

std::vector<PlannedRecipe> list_recipes(const ReproduceOptions& options) {
  std::vector<PlannedRecipe> list;
  for (const auto& [name, recipe] : read_recipes(options))
    list.push_back({name, recipe.title, reproduce::missing_data(options.run, recipe), {}});
  return list;
}

std::vector<PlannedRecipe> plan_recipes(const ReproduceOptions& options) {
  const Recipes recipes = read_recipes(options);
  std::vector<PlannedRecipe> plan;
  for (const Recipe* recipe : chosen(recipes, options.experiments)) {
    PlannedRecipe& one = plan.emplace_back();
    one = {recipe->name, recipe->title, reproduce::missing_data(options.run, *recipe), {}};
    if (!one.missing.empty()) continue;
    for (const reproduce::RecipeStep& step : recipe->steps)
      one.commands.push_back(planned_command({options.run, *recipe, step.name}, step));
  }
  return plan;
}

ReproduceResult run_reproduce(const ReproduceOptions& options, const std::atomic<bool>& stop) {
  const Recipes recipes = read_recipes(options);
  const auto order = chosen(recipes, options.experiments);
  make_folder(options.run.out);
  ReproduceResult result;
  result.report = options.run.out / "report.html";
  result.experiments = order.size();
  std::error_code error;
  const auto say = [&](const std::string& line) {
    if (options.say) options.say(line);
  };
  const bool first = !fs::exists(result.report, error);  // then the report grows while people wait
  std::vector<reproduce::Outcome> outcomes;
  const auto write_report = [&] {
    write_file(result.report, reproduce::html_report(outcomes, options.run, about(options)));
  };
  for (const Recipe* recipe : order) {
    const reproduce::Outcome& last =
        outcomes.emplace_back(reproduce::run_recipe(*recipe, options.run, options.force, {say, &stop}));
    if (!last.done) {
      say(fmt::format("{}: not run to the end: {}", recipe->name, last.why_not));
      (last.steps.empty() ? result.without_data : result.failed).push_back(recipe->name);
      result.why_not = last.why_not;
    }
    if (first) write_report();
  }
  write_report();
  return result;
}

nlohmann::json to_json(const std::vector<PlannedRecipe>& recipes) {
  nlohmann::json list = nlohmann::json::array();
  for (const PlannedRecipe& one : recipes)
    list.push_back(
        {{"name", one.name}, {"title", one.title}, {"missing", one.missing}, {"commands", one.commands}});
  return list;
}

nlohmann::json to_json(const ReproduceResult& result) {
  return {{"report", result.report.string()},
          {"experiments", result.experiments},
          {"failed", result.failed},
          {"without_data", result.without_data}};
}

void print_list(const std::vector<PlannedRecipe>& recipes) {
  for (const PlannedRecipe& one : recipes)
    fmt::print("{:<22}{}{}\n", one.name, one.title, one.missing.empty() ? "" : " (" + one.missing + ")");
}

void print_plan(const std::vector<PlannedRecipe>& recipes) {
  for (const PlannedRecipe& one : recipes) {
    fmt::print("# {}: {}\n", one.name, one.title);
    if (!one.missing.empty()) fmt::print("#   cannot run: {}\n", one.missing);
    for (const std::string& command : one.commands) fmt::print("{}\n", command);
  }
}

void print(const ReproduceResult& result) { fmt::print("report  {}\n", result.report.string()); }

void require_success(const ReproduceResult& result) {
  if (!result.failed.empty())
    fail("the report says why; the same call tries again", "{} of {} experiments failed, the first is {}",
         result.failed.size(), result.experiments, result.failed.front());
  if (result.without_data.size() == result.experiments)
    fail("mdsm reproduce --help says how to name it", "nothing was run: {}", result.why_not);
}

}  // namespace mdsm::app
