#include "core/options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "core/nearest.h"
#include "core/toml.h"

namespace mdsm {
namespace {

using nlohmann::json;

template <class... Ts>
struct Overload : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overload(Ts...) -> Overload<Ts...>;

template <class T>
bool parse_number(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// "--lr 0.001" and "--limit 10000" as people write them: 1e4 is a fine integer.
bool parse_integer(const std::string& text, int64_t& value) {
  if (parse_number(text, value)) return true;
  double real = 0;
  if (!parse_number(text, real) || std::floor(real) != real || std::abs(real) > 9e15) return false;
  value = static_cast<int64_t>(real);
  return true;
}

bool parse_flag(const std::string& text, bool& value) {
  value = text == "true" || text == "1" || text == "yes" || text == "on";
  return value || text == "false" || text == "0" || text == "no" || text == "off";
}

std::string join(const std::vector<std::string>& words, const char* separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string plain_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string trimmed_number(double value) { return fmt::format("{}", value); }

}  // namespace

std::string value_text(const Option::Target& target) {
  return std::visit(
      Overload{[](bool* v) -> std::string { return *v ? "true" : "false"; },
               [](int64_t* v) { return std::to_string(*v); }, [](double* v) { return trimmed_number(*v); },
               [](std::string* v) { return *v; }, [](std::vector<std::string>* v) { return join(*v, ","); },
               [](const EnumVariable& v) { return v.get(v.variable); }},
      target);
}

Option::Option(std::string name, Target target, std::string help, std::string group)
    : name_(std::move(name)), group_(std::move(group)) {
  add_use("", std::move(target), std::move(help));
}

void Option::add_use(std::string alternative, Target target, std::string help) {
  if (const auto* choice = std::get_if<EnumVariable>(&target); choice && choices_.empty())
    choices_ = choice->names;
  std::string initial = value_text(target);
  uses_.push_back({std::move(alternative), std::move(target), std::move(help), std::move(initial)});
}

bool Option::belongs_to(const std::string& alternative) const {
  return std::ranges::any_of(
      uses_, [&](const Use& use) { return use.alternative.empty() || use.alternative == alternative; });
}

const Option::Use& Option::use(const std::string& alternative) const {
  const auto found = std::ranges::find(uses_, alternative, &Use::alternative);
  return found == uses_.end() ? uses_.front() : *found;
}

Option& Option::range(double low, double high) {
  low_ = low;
  high_ = high;
  return *this;
}
Option& Option::above(double low) {
  low_ = low;
  open_low_ = true;
  return *this;
}
Option& Option::choices(std::vector<std::string> allowed) {
  choices_ = std::move(allowed);
  return *this;
}
Option& Option::required() {
  required_ = true;
  return *this;
}
Option& Option::meta(std::string name) {
  meta_ = std::move(name);
  return *this;
}
Option& Option::positional() {
  positional_ = true;
  return command_line_only();
}
Option& Option::command_line_only() {
  key_ = false;
  return unsaved();
}
Option& Option::unsaved() {
  saved_ = false;
  return *this;
}
Option& Option::not_in_environment() {
  in_environment_ = false;
  return *this;
}
Option& Option::hidden() {
  hidden_ = true;
  return *this;
}
Option& Option::alias(std::string name) {
  aliases_.push_back(std::move(name));
  return *this;
}
Option& Option::formerly(std::string name) {
  former_names_.push_back(std::move(name));
  return *this;
}
Option& Option::value_alias(std::string spelling, std::string meant) {
  value_aliases_.emplace_back(std::move(spelling), std::move(meant));
  return *this;
}
Option& Option::shown_default(std::string text) {
  shown_default_ = std::move(text);
  return *this;
}

bool Option::has_name(std::string_view name) const {
  return name_ == name || std::ranges::count(aliases_, name) > 0 ||
         std::ranges::count(former_names_, name) > 0;
}

std::string Option::environment_name() const {
  if (!key_ || !in_environment_) return "";
  std::string name = "MDSM_" + name_;
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string Option::display_name() const { return positional_ ? meta_text() : "--" + name_; }

void Option::reject(const std::string& value, const std::string& hint) const {
  fail_usage(hint, "{}: '{}' is not a valid value", display_name(), value);
}

void Option::check_number(double value) const {
  if (std::isfinite(value) && (open_low_ ? value > low_ : value >= low_) && value <= high_) return;
  reject(trimmed_number(value), "it must be " + (std::isfinite(value) ? constraint_text() : "finite"));
}

void Option::assign(const std::string& text, bool append) {
  const auto other = std::ranges::find(value_aliases_, text, &decltype(value_aliases_)::value_type::first);
  const std::string& meant = other == value_aliases_.end() ? text : other->second;
  for (const Use& use : uses_) assign(use.target, meant, append);
  given_ = true;
}

void Option::assign(const Target& to, const std::string& text, bool append) const {
  if (!choices_.empty() && std::find(choices_.begin(), choices_.end(), text) == choices_.end())
    reject(text, "choose one of " + join(choices_, ", "));
  std::visit(Overload{[&](bool* target) {
                        bool value = false;
                        if (!parse_flag(text, value)) reject(text, "use true or false");
                        *target = value;
                      },
                      [&](int64_t* target) {
                        int64_t value = 0;
                        if (!parse_integer(text, value)) reject(text, "it takes a whole number");
                        check_number(static_cast<double>(value));
                        *target = value;
                      },
                      [&](double* target) {
                        double value = 0;
                        if (!parse_number(text, value)) reject(text, "it takes a number");
                        check_number(value);
                        *target = value;
                      },
                      [&](std::string* target) { *target = text; },
                      [&](std::vector<std::string>* target) {
                        if (!append) target->clear();
                        target->push_back(text);
                      },
                      [&](const EnumVariable& target) { target.set(target.variable, text); }},
             to);
}

std::string Option::meta_text() const {
  if (!meta_.empty()) return meta_;
  if (!choices_.empty()) return join(choices_, "|");
  return std::visit(
      Overload{[](bool*) -> std::string { return ""; }, [](int64_t*) -> std::string { return "INT"; },
               [](double*) -> std::string { return "NUMBER"; },
               [](std::string*) -> std::string { return "TEXT"; },
               [](std::vector<std::string>*) -> std::string { return "TEXT..."; },
               [](const EnumVariable&) -> std::string { return "NAME"; }},
      uses_.front().target);
}

std::string Option::constraint_text() const {
  const bool has_low = std::isfinite(low_), has_high = std::isfinite(high_);
  if (has_low && has_high) return fmt::format("{} to {}", trimmed_number(low_), trimmed_number(high_));
  if (has_low) return open_low_ ? "above " + trimmed_number(low_) : trimmed_number(low_) + " or more";
  if (has_high) return fmt::format("{} or less", trimmed_number(high_));
  return "";
}

json Option::description() const {
  const std::string type = std::visit(
      Overload{[](bool*) { return "switch"; }, [](int64_t*) { return "integer"; },
               [](double*) { return "number"; }, [](std::string*) { return "text"; },
               [](std::vector<std::string>*) { return "list"; }, [](const EnumVariable&) { return "text"; }},
      uses_.front().target);
  json found = {{"name", name_}, {"group", group_}, {"type", type}, {"choices", choices_}};
  found["low"] = number_or_null(low_);
  found["high"] = number_or_null(high_);
  for (const Use& use : uses_)
    found["uses"].push_back({{"of", use.alternative}, {"help", use.help}, {"default", use.initial}});
  return found;
}

OptionSet::OptionSet(std::string command, std::string summary)
    : command_(std::move(command)), summary_(std::move(summary)) {}
OptionSet::~OptionSet() = default;

OptionSet& OptionSet::group(std::string title) {
  current_group_ = std::move(title);
  return *this;
}

OptionSet& OptionSet::example(std::string line) {
  examples_.push_back(std::move(line));
  return *this;
}

Option& OptionSet::add(std::string name, Option::Target target, std::string help) {
  if (const Option* known = find_or_null(name)) {
    if (declaring_.empty() || known->belongs_to(declaring_))
      throw std::logic_error("option declared twice: " + name);
    auto& option = const_cast<Option&>(*known);
    option.add_use(declaring_, std::move(target), std::move(help));
    return option;
  }
  options_.push_back(std::unique_ptr<Option>(
      new Option(std::move(name), std::move(target), std::move(help), current_group_)));
  options_.back()->uses_.front().alternative = declaring_;
  return *options_.back();
}

OptionSet& OptionSet::alternative(std::string chooser, std::string name) {
  chooser_ = std::move(chooser);
  declaring_ = std::move(name);
  alternatives_.push_back(declaring_);
  return *this;
}

OptionSet& OptionSet::common() {
  declaring_.clear();
  return *this;
}

void OptionSet::choose(const std::string& name) {
  chosen_ = name;
  for (const auto& option : options_) {
    if (!option->given_ || option->belongs_to(name)) continue;
    std::vector<std::string> owners;
    for (const auto& use : option->uses_) owners.push_back(use.alternative);
    fail_usage(fmt::format("leave it out, or use --{} {}", chooser_, join(owners, ", ")),
               "--{} has no meaning for --{} {}", option->name_, chooser_, name);
  }
}

json OptionSet::chosen_json() const {
  json values = to_json();
  for (const auto& option : options_)
    if (std::ranges::find(option->uses_, chosen_, &Option::Use::alternative) == option->uses_.end())
      values.erase(option->name_);
  return values;
}

json OptionSet::description() const {
  json all = json::array();
  for (const auto& option : options_)
    if (!option->positional_) all.push_back(option->description());
  return all;
}

void OptionSet::accept_config() {
  group("General");
  add("config", config_files_, "options from a TOML or JSON file, keys as the long options")
      .meta("FILE")
      .command_line_only();
  add("set", settings_, "set one option by its key").meta("KEY=VALUE").command_line_only();
}

const Option* OptionSet::find_or_null(std::string_view name) const {
  for (const auto& option : options_)
    if (option->name_ == name) return option.get();
  for (const auto& option : options_)
    if (option->has_name(name)) return option.get();
  return nullptr;
}

Option& OptionSet::find(std::string_view name, const std::string& where) {
  if (const Option* option = find_or_null(name)) {
    if (std::ranges::count(option->former_names_, name) > 0)
      log_warning("{}: --{} is called --{} now", where, name, option->name_);
    return const_cast<Option&>(*option);
  }
  std::vector<std::string> names;
  for (const auto& option : options_)
    if (!option->positional_ && !option->hidden_) names.push_back(option->name_);
  const std::string nearest = nearest_name(name, names);
  fail_usage(nearest.empty() ? fmt::format("mdsm {} --help lists them", command_)
                             : fmt::format("did you mean {}?", nearest),
             "{}: unknown option '{}'", where, name);
}

void OptionSet::read_environment() {
  for (const auto& option : options_) {
    const std::string name = option->environment_name();
    const char* const value = name.empty() ? nullptr : std::getenv(name.c_str());
    if (!value || !*value) continue;
    try {
      option->assign(value, false);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{} in the environment: {}", name, error.message()),
                  error.hint());
    }
    option->given_ = false;
    option->from_environment_ = true;
  }
}

void OptionSet::parse(std::span<const std::string> arguments) {
  struct Assignment {
    Option* option;
    std::string value;
  };
  std::vector<Assignment> assignments;
  std::vector<Option*> places;
  for (const auto& option : options_)
    if (option->positional_) places.push_back(option.get());
  size_t place = 0;
  bool only_places = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (only_places || word.size() < 2 || word[0] != '-') {
      if (place >= places.size())
        fail_usage(fmt::format("mdsm {} --help shows the usage", command_),
                   "mdsm {}: unexpected argument '{}'", command_, word);
      assignments.push_back({places[place], word});
      if (!places[place]->is_list()) ++place;
      continue;
    }
    if (word == "--") {
      only_places = true;
      continue;
    }
    const bool is_short = word[1] != '-';
    const size_t equals = word.find('=');
    std::string name =
        word.substr(is_short ? 1 : 2, equals == std::string::npos ? equals : equals - (is_short ? 1 : 2));
    const bool negated = name.rfind("no-", 0) == 0 && !find_or_null(name) && find_or_null(name.substr(3));
    Option& option = find(negated ? name.substr(3) : name, "mdsm " + command_);
    if (option.positional_)
      fail_usage(fmt::format("give {} by its place, without --{}", option.meta_text(), name),
                 "mdsm {}: unknown option '{}'", command_, name);
    if (option.is_switch()) {
      std::string value = equals == std::string::npos ? "true" : word.substr(equals + 1);
      if (bool flag = false; negated && parse_flag(value, flag)) value = flag ? "false" : "true";
      assignments.push_back({&option, value});
    } else if (negated) {
      fail_usage("only switches can be negated", "mdsm {}: unknown option '{}'", command_, name);
    } else if (equals != std::string::npos) {
      assignments.push_back({&option, word.substr(equals + 1)});
    } else if (i + 1 < arguments.size()) {
      assignments.push_back({&option, arguments[++i]});
    } else {
      fail_usage(fmt::format("write --{} {}", option.name_, option.meta_text()),
                 "mdsm {}: --{} needs a value", command_, option.name_);
    }
  }
  std::vector<Option*> cleared;
  const auto apply = [&](const Assignment& a) {
    const bool first = std::find(cleared.begin(), cleared.end(), a.option) == cleared.end();
    if (first) cleared.push_back(a.option);
    a.option->assign(a.value, !first);
  };
  for (const auto& a : assignments)
    if (a.option->name_ == "config") load(a.value);
  for (const auto& a : assignments) {
    apply(a);
    if (a.option->name_ != "set") continue;
    const size_t equals = a.value.find('=');
    if (equals == std::string::npos) fail_usage("write --set key=value", "--set: '{}' has no '='", a.value);
    set(a.value.substr(0, equals), a.value.substr(equals + 1));
  }
  for (const auto& option : options_)
    if (option->required_ && !option->given_ && !option->from_environment_)
      fail_usage(fmt::format("mdsm {} --help shows the usage", command_), "mdsm {}: {} is missing", command_,
                 option->display_name());
}

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

void OptionSet::set(std::string_view name, const std::string& value, const std::string& where) {
  Option& option = find(name, where);
  if (!option.key_)
    fail_usage("give it on the command line", "{}: '{}' is not a configuration key", where, name);
  option.assign(value, false);
}

void OptionSet::set_default(std::string_view name, const std::string& value) {
  Option& option = find(name, "preset");
  if (option.given_ || option.from_environment_) return;
  option.assign(value, false);
  option.given_ = false;
}

bool OptionSet::given(std::string_view name) const {
  const Option* option = find_or_null(name);
  return option && option->given_;
}

std::vector<std::string> OptionSet::given_names() const {
  std::vector<std::string> names;
  for (const auto& option : options_)
    if (option->given_) names.push_back(option->name_);
  return names;
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
