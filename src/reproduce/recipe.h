// A recipe: one experiment as a JSON file in configs/reproduce (docs/reproduce.md describes the keys).
// Reading checks everything that can be checked without running it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/files.h"

namespace mdsm::reproduce {

enum class Scale { smoke, cpu, paper };
constexpr auto enum_names(Scale) {
  return names_of<Scale>({{Scale::smoke, "smoke"}, {Scale::cpu, "cpu"}, {Scale::paper, "paper"}});
}

// One call of mdsm. Words may hold {variables}.
struct RecipeStep {
  std::string name;
  std::vector<std::string> words;  // without the program's name
  std::vector<std::string>
      resume;  // the words of a call that goes on with an unfinished one; empty: start anew
};

// A number of a step, FILE#/json/pointer relative to the experiment's folder; the last line of a .jsonl file.
struct RecipeResult {
  std::string label, value, error, over;  // over: a number that divides the value
  std::string paper, note;                // paper: its figure as people read it
  int digits = 3;
};

struct RecipeFigure {
  std::string file, caption;
};

struct Recipe {
  std::string name, title, about;
  std::vector<std::string> needs;                              // recipes whose steps come first
  std::vector<std::string> data;                               // sets it reads
  std::map<Scale, std::map<std::string, std::string>> scales;  // values of variables
  std::vector<RecipeStep> steps;
  std::vector<RecipeResult> results;
  std::vector<RecipeFigure> figures;
};

Recipe read_recipe(const fs::path& file);
// All recipes of a folder, by name; files must end in .json.
std::map<std::string, Recipe> read_recipes(const fs::path& folder);
// The named recipe after everything it needs, each once. Fails on unknown names and circles.
std::vector<const Recipe*> in_order(const std::map<std::string, Recipe>& recipes,
                                    const std::vector<std::string>& names);

}  // namespace mdsm::reproduce
