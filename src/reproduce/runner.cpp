#include "reproduce/runner.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/resources.h"
#include "core/run_program.h"

namespace mdsm::reproduce {
namespace {

using nlohmann::json;

std::vector<std::string> expanded(const std::vector<std::string>& words, const Variables& variables) {
  std::vector<std::string> all;
  for (const std::string& word : words) all.push_back(variables.expand(word));
  return all;
}

fs::path beside(const fs::path& folder, const char* ending) {
  return folder.parent_path() / (folder.filename().string() + ending);
}

// The finished step as its marker tells; nothing where it is not finished.
std::optional<StepOutcome> finished(const fs::path& marker, const std::string& command, bool force) {
  std::error_code error;
  if (!fs::exists(marker, error)) return std::nullopt;
  const json values = parse_json(read_text(marker));
  if (!values.is_object() || !values.value("command", json()).is_string() ||
      !values.value("seconds", json()).is_number())
    fail("remove it to do the step again", "{}: damaged", marker.string());
  const std::string before = values["command"];
  if (before == command)
    return StepOutcome{values.value("name", ""), command, values["seconds"].get<double>()};
  if (!force)
    fail("--force does the step again, another --out keeps both", "{}: was done by another command: {}",
         marker.string(), before);
  fs::remove(marker, error);
  return std::nullopt;
}

StepOutcome run_step(const Recipe& recipe, const RecipeStep& step, const ReproduceOptions& options,
                     bool force, const RunnerHooks& hooks, std::string& why_not) {
  using Clock = std::chrono::steady_clock;
  const Variables variables(options, recipe, step.name);
  const fs::path folder = options.out / recipe.name / step.name, marker = beside(folder, ".done.json");
  std::vector<std::string> words = expanded(step.words, variables);
  const std::string command = command_text(words);
  if (const auto before = finished(marker, command, force)) {
    hooks.say(fmt::format("{}/{}: done before ({})", recipe.name, step.name, duration_text(before->seconds)));
    return {step.name, command, before->seconds};
  }
  std::error_code error;
  bool resumed = false;
  if (fs::exists(folder, error)) {
    // Left by a call that did not end well.
    const auto resume = expanded(step.resume, variables);
    resumed = !resume.empty() && std::ranges::none_of(resume, &std::string::empty);
    if (resumed)
      words = resume;
    else
      fs::remove_all(folder, error);
  }
  make_folder(folder);
  hooks.say(fmt::format("{}/{}: {}", recipe.name, step.name, command_text(words)));
  words.insert(words.begin(), program_path().string());
  const auto start = Clock::now();
  const ProgramEnd end = run_program(words, beside(folder, ".out"), beside(folder, ".log"), *hooks.stop);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (*hooks.stop) fail("the same call goes on here", "stopped in step {} of {}", step.name, recipe.name);
  if (!end.good) {
    why_not = fmt::format("step {} failed, {}", step.name, end.how);
    return {step.name, command, seconds};
  }
  const json values = {{"name", step.name}, {"command", command}, {"seconds", seconds}, {"resumed", resumed}};
  write_file(marker, json_text(values, 1) + "\n");
  return {step.name, command, seconds};
}

}  // namespace

std::string command_text(const std::vector<std::string>& words) {
  std::string text = "mdsm";
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
      return std::isalnum(c) ||
             std::string_view("-_./:,=+@%").find(static_cast<char>(c)) != std::string::npos;
    });
    text += " ";
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
    text += '\'';
  }
  return text;
}

Outcome run_recipe(const Recipe& recipe, const ReproduceOptions& options, bool force,
                   const RunnerHooks& hooks) {
  Outcome outcome{&recipe, false, missing_data(options, recipe), {}};
  if (outcome.why_not.empty() && !recipe.steps.empty() && !recipe.scales.contains(options.scale))
    outcome.why_not = fmt::format("the recipe has no scale {}", to_string(options.scale));
  if (!outcome.why_not.empty()) return outcome;
  make_folder(options.out / recipe.name);
  for (const RecipeStep& step : recipe.steps) {
    outcome.steps.push_back(run_step(recipe, step, options, force, hooks, outcome.why_not));
    if (!outcome.why_not.empty()) return outcome;
  }
  outcome.done = true;
  return outcome;
}

std::optional<double> result_number(const Recipe& recipe, const ReproduceOptions& options,
                                    const std::string& reference) {
  const size_t hash = reference.find("#/");
  const fs::path file =
      options.out / recipe.name / Variables(options, recipe).expand(reference.substr(0, hash));
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  std::string text = read_text(file);
  if (file.extension() == ".jsonl") {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text.erase(0, text.rfind('\n') + 1);
  }
  const json values = parse_json(text);
  if (values.is_discarded()) return std::nullopt;
  const json::json_pointer pointer(reference.substr(hash + 1));
  if (!values.contains(pointer) || !values[pointer].is_number()) return std::nullopt;
  return values[pointer].get<double>();
}

}  // namespace mdsm::reproduce
