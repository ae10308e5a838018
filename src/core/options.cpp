// The table of options: declared, and read from the environment and the command line.
#include "core/options.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "core/log.h"
#include "core/nearest.h"

namespace mdsm {

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
    fail_usage(fmt::format("leave it out, or use --{} {}", chooser_, fmt::join(owners, ", ")),
               "--{} has no meaning for --{} {}", option->name_, chooser_, name);
  }
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

Option& OptionSet::find(std::string_view name, const std::string& where, const char* dashes) {
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
                             : fmt::format("did you mean {}{}?", dashes, nearest),
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

// What a command works on is given by name in most of them.
std::string OptionSet::hint_for_place(const std::string& word, std::span<const std::string> all) const {
  std::vector<std::string> names;
  for (const char* const name : {"model", "samples", "data"})
    if (const Option* option = find_or_null(name);
        option && !option->positional_ && std::ranges::count(all, "--" + option->name_) == 0)
      names.push_back(fmt::format("--{} {}", name, word));
  if (names.empty()) return fmt::format("mdsm {} --help shows the usage", command_);
  return fmt::format("did you mean {}?", fmt::join(names, " or "));
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
        fail_usage(hint_for_place(word, arguments), "mdsm {}: unexpected argument '{}'", command_, word);
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
    Option& option = find(negated ? name.substr(3) : name, "mdsm " + command_, "--");
    if (option.positional_)
      fail_usage(fmt::format("give {} by its place, without --{}", option.meta_text(), name),
                 "mdsm {}: unknown option '{}'", command_, name);
    if (option.is_switch()) {
      const std::string value = equals == std::string::npos ? "true" : word.substr(equals + 1);
      assignments.push_back({&option, negated ? Option::negated(value) : value});
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

}  // namespace mdsm
