#include "reproduce/recipe.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/json.h"

namespace mdsm::reproduce {
namespace {

using nlohmann::json;

constexpr const char* kHint = "docs/reproduce.md describes recipes";

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = line.find_first_not_of(" \t\n", at)) != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(" \t\n", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

bool is_reference(const std::string& text) {
  const size_t hash = text.find("#/");
  if (hash == 0 || hash == std::string::npos) return false;
  try {
    const json::json_pointer pointer(text.substr(hash + 1));
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

// An object whose keys are all asked for: what is left over is a mistake.
class Fields {
 public:
  Fields(const json& values, std::string where) : values_(values), where_(std::move(where)) {
    if (!values.is_object()) fail(kHint, "{}: not an object", where_);
  }
  const json* find(const char* key) {
    known_.insert(key);
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &*found;
  }
  std::string text(const char* key, bool needed = false) {
    const json* found = find(key);
    if (!found && !needed) return "";
    if (!found || !found->is_string()) fail(kHint, "{}: \"{}\" must be text", where_, key);
    return found->get<std::string>();
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> all;
    const json* found = find(key);
    if (!found) return all;
    if (!found->is_array()) fail(kHint, "{}: \"{}\" must be a list of texts", where_, key);
    for (const json& one : *found) {
      if (!one.is_string()) fail(kHint, "{}: \"{}\" must be a list of texts", where_, key);
      all.push_back(one.get<std::string>());
    }
    return all;
  }
  // Calls body(Fields&) for every object of a list.
  template <class Body>
  void each(const char* key, const Body& body) {
    const json* found = find(key);
    if (!found) return;
    if (!found->is_array()) fail(kHint, "{}: \"{}\" must be a list", where_, key);
    for (size_t i = 0; i < found->size(); ++i) {
      Fields one((*found)[i], fmt::format("{}: {} {}", where_, key, i + 1));
      body(one);
      one.done();
    }
  }
  void done() const {
    for (const auto& [key, value] : values_.items())
      if (!known_.contains(key)) fail(kHint, "{}: unknown key \"{}\"", where_, key);
  }
  const std::string& where() const { return where_; }

 private:
  const json& values_;
  std::string where_;
  std::set<std::string> known_;
};

void read_scales(Fields& fields, Recipe& recipe) {
  const json* scales = fields.find("scales");
  if (!scales) return;
  Fields all(*scales, fields.where() + ": scales");
  for (const auto& [scale, name] : enum_names(Scale{})) {
    const json* values = all.find(name);
    if (!values) continue;
    if (!values->is_object()) fail(kHint, "{}: scale {} must be an object", fields.where(), name);
    auto& variables = recipe.scales[scale];
    for (const auto& [key, value] : values->items()) {
      if (!value.is_string() && !value.is_number())
        fail(kHint, "{}: {} of scale {} must be a number or text", fields.where(), key, name);
      variables[key] = value.is_string() ? value.get<std::string>() : json_text(value);
    }
  }
  all.done();
}

void read_steps(Fields& fields, Recipe& recipe) {
  std::set<std::string> names;
  fields.each("steps", [&](Fields& one) {
    RecipeStep step{one.text("name", true), words_of(one.text("run", true)), words_of(one.text("resume"))};
    if (step.name.empty() || step.name.find_first_of("/.{}") != std::string::npos)
      fail(kHint, "{}: \"{}\" cannot name a folder", one.where(), step.name);
    if (!names.insert(step.name).second) fail(kHint, "{}: a second step {}", one.where(), step.name);
    if (step.words.empty()) fail(kHint, "{}: nothing to run", one.where());
    recipe.steps.push_back(std::move(step));
  });
}

void visit(const std::map<std::string, Recipe>& recipes, const std::string& name,
           std::vector<std::string>& path, std::vector<const Recipe*>& order) {
  const auto found = recipes.find(name);
  if (found == recipes.end()) {
    std::string all;
    for (const auto& [known, recipe] : recipes) all += (all.empty() ? "" : ", ") + known;
    fail_usage("there are all, " + all, "no recipe {}", name);
  }
  if (std::ranges::find(path, name) != path.end()) fail(kHint, "recipe {} needs itself", name);
  if (std::ranges::find(order, &found->second) != order.end()) return;
  path.push_back(name);
  for (const std::string& need : found->second.needs) visit(recipes, need, path, order);
  path.pop_back();
  order.push_back(&found->second);
}

}  // namespace

Recipe read_recipe(const fs::path& file) {
  const json values = parse_json(read_text(file), /*with_comments=*/true);
  if (values.is_discarded()) fail("mend it", "{}: not JSON", file.string());
  Fields fields(values, file.filename().string());
  Recipe recipe;
  recipe.name = file.stem().string();
  recipe.title = fields.text("title", true);
  recipe.about = fields.text("about");
  recipe.needs = fields.texts("needs");
  recipe.data = fields.texts("data");
  read_scales(fields, recipe);
  read_steps(fields, recipe);
  fields.each("results", [&](Fields& one) {
    RecipeResult result{one.text("label", true), one.text("value", true), one.text("error"),
                        one.text("over"),        one.text("paper"),       one.text("note")};
    for (const std::string* reference : {&result.value, &result.error, &result.over})
      if (!reference->empty() && !is_reference(*reference))
        fail(kHint, "{}: {} is not FILE#/pointer", one.where(), *reference);
    if (const json* digits = one.find("digits")) {
      if (!digits->is_number_integer() || *digits < 0 || *digits > 12)
        fail(kHint, "{}: digits must be 0 to 12", one.where());
      result.digits = json_value<int>(*digits);
    }
    recipe.results.push_back(std::move(result));
  });
  fields.each("figures", [&](Fields& one) {
    recipe.figures.push_back({one.text("file", true), one.text("caption", true)});
  });
  fields.done();
  return recipe;
}

std::map<std::string, Recipe> read_recipes(const fs::path& folder) {
  std::map<std::string, Recipe> recipes;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".json") {
      Recipe recipe = read_recipe(it->path());
      recipes.emplace(recipe.name, std::move(recipe));
    }
  if (error) fail("check the path", "{}: {}", folder.string(), error.message());
  if (recipes.empty()) fail("name a folder of recipes with --recipes", "{}: no recipes", folder.string());
  return recipes;
}

std::vector<const Recipe*> in_order(const std::map<std::string, Recipe>& recipes,
                                    const std::vector<std::string>& names) {
  std::vector<const Recipe*> order;
  std::vector<std::string> path;
  for (const std::string& name : names) visit(recipes, name, path, order);
  return order;
}

}  // namespace mdsm::reproduce
