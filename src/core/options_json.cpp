// Options in configuration files, and as a run records them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/options.h"
#include "core/overload.h"
#include "core/toml.h"

namespace mdsm {

using nlohmann::json;

namespace {

std::string plain_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

}  // namespace

void OptionSet::load(const fs::path& path) {
  const std::string text = read_text(path);
  const bool is_toml = path.extension() == ".toml";
  const json values = is_toml ? parse_toml(text, path.string()) : parse_json(text);
  if (values.is_discarded()) fail_usage("write TOML (.toml) or JSON", "{}: not valid JSON", path.string());
  from_json(values, path.string());
}

void OptionSet::from_json(const json& values, const std::string& where) {
  if (!values.is_object()) fail_usage("write key = value pairs", "{}: not a table of options", where);
  for (const auto& [key, value] : values.items()) {
    if (!value.is_object()) {
      assign_json(key, value, where);
      continue;
    }
    for (const auto& [inner_key, inner] : value.items()) {  // a [section] only groups keys for the reader
      if (inner.is_object())
        fail_usage("use one level of sections", "{}: a section inside section '{}'", where, key);
      assign_json(inner_key, inner, where);
    }
  }
}

void OptionSet::assign_json(const std::string& key, const json& value, const std::string& where) {
  Option& option = find(key, where);
  if (!option.key_)
    fail_usage("give it on the command line", "{}: '{}' is not a configuration key", where, key);
  if (value.is_null()) return;
  if (!value.is_array()) return option.assign(plain_text(value), false);
  if (!option.is_list()) fail_usage("it takes one value", "{}: '{}' is given a list", where, key);
  for (const auto& use : option.uses_) std::get<std::vector<std::string>*>(use.target)->clear();
  option.given_ = true;
  for (const auto& item : value) option.assign(plain_text(item), true);
}

json OptionSet::chosen_json() const {
  json values = to_json();
  for (const auto& option : options_)
    if (std::ranges::find(option->uses_, chosen_, &Option::Use::alternative) == option->uses_.end())
      values.erase(option->name_);
  return values;
}

json OptionSet::renamed(const json& values) const {
  if (!values.is_object()) return values;
  json today = json::object();
  for (const auto& [key, value] : values.items()) {
    const Option* const option = find_or_null(key);
    today[option ? option->name_ : key] = value;
  }
  return today;
}

json OptionSet::to_json() const {
  json values = json::object();
  for (const auto& option : options_)
    if (option->saved_)
      std::visit(Overload{[&](const EnumVariable& v) { values[option->name_] = v.get(v.variable); },
                          [&](auto* target) { values[option->name_] = *target; }},
                 option->use(chosen_).target);
  return values;
}

}  // namespace mdsm
