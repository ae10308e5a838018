// Options declared once: the same table gives the command-line parser, --help, docs/cli.md, the keys of TOML
// and JSON configuration files, --set key=value, and the options.json of a run. Unknown keys are errors
// everywhere.
//
//   OptionSet options("train", "Train an energy model");
//   options.group("Network").add("width", width, "channels of the first layer").range(4, 4096);
//   options.parse({"--width", "16"});
//
// A variable may be a bool, a number, text, a list of text, or an enum with names (core/enum_names.h).
//
// What a configuration file may set, the environment may too: MDSM_WIDTH=16 is the default of --width
// wherever there is such an option. It counts as a default, not as given: files, the command line and what a
// run has recorded win.
//
// Where one option chooses between alternatives that have options of their own (--sampler, --objective), each
// alternative declares its own between alternative() and common(). Several may declare the same name, each
// with its own variable, default and meaning; help tells whose is what, and choose() refuses what was given
// for another alternative.
//
// The set keeps pointers to the variables it was given; they must outlive it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/enum_names.h"
#include "core/files.h"

namespace mdsm {

// A variable of an enum type, seen as one of its names.
struct EnumVariable {
  void* variable = nullptr;
  std::vector<std::string> names;
  std::string (*get)(const void* variable) = nullptr;
  void (*set)(void* variable, const std::string& name) = nullptr;
};
template <NamedEnum E>
EnumVariable enum_variable(E& variable) {
  return {&variable, names_in_order<E>(),
          [](const void* from) { return std::string(to_string(*static_cast<const E*>(from))); },
          [](void* to, const std::string& name) { *static_cast<E*>(to) = from_name<E>(name, "the value"); }};
}

class Option {
 public:
  using Target =
      std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*, EnumVariable>;

  Option& range(double low, double high = std::numeric_limits<double>::infinity());  // both ends allowed
  Option& above(double low);                                                         // low itself not allowed
  Option& choices(std::vector<std::string> allowed);
  Option& required();
  Option& meta(std::string name);      // the word for the value in help, instead of its type
  Option& positional();                // given by place instead of by --name; a list takes all that is left
  Option& command_line_only();         // not a configuration key and not part of the saved options
  Option& unsaved();                   // a configuration key, but not part of the saved options
  Option& not_in_environment();        // MDSM_NAME means something else
  Option& hidden();                    // works, but no help, reference or completion shows it
  Option& alias(std::string name);     // another spelling
  Option& formerly(std::string name);  // its name in the version before: works, and says the new one
  Option& value_alias(std::string spelling, std::string meant);  // of one of the choices
  Option& shown_default(std::string text);  // what help says of it in place of the variable's value

 private:
  friend class OptionSet;
  // One variable, and what it means to the alternative that declared it; "" where there are none.
  struct Use {
    std::string alternative;
    Target target;
    std::string help, initial;
  };
  Option(std::string name, Target target, std::string help, std::string group);
  void add_use(std::string alternative, Target target, std::string help);
  bool belongs_to(const std::string& alternative) const;
  // That of the alternative, or the first.
  const Use& use(const std::string& alternative) const;
  void assign(const std::string& text, bool append);
  void assign(const Target& target, const std::string& text, bool append) const;
  bool has_name(std::string_view name) const;  // its own, an alias or a former one
  // MDSM_NAME; empty where the environment has no say.
  std::string environment_name() const;
  bool is_switch() const { return std::holds_alternative<bool*>(uses_.front().target); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(uses_.front().target); }
  void check_number(double value) const;
  [[noreturn]] void reject(const std::string& value, const std::string& hint) const;
  static std::string negated(const std::string& text);  // what --no-NAME=text says of a switch
  std::string meta_text() const;
  std::string type_text() const;
  std::string constraint_text() const;
  std::string display_name() const;
  // all: every alternative there is.
  std::string help_text(const std::vector<std::string>& all) const;
  std::string default_text() const;

  std::string name_, group_, meta_, shown_default_;
  std::vector<std::string> aliases_, former_names_;
  std::vector<std::pair<std::string, std::string>> value_aliases_;
  std::vector<Use> uses_;
  double low_ = -std::numeric_limits<double>::infinity(), high_ = std::numeric_limits<double>::infinity();
  bool open_low_ = false, required_ = false, positional_ = false, given_ = false, saved_ = true;
  bool key_ = true, hidden_ = false, in_environment_ = true, from_environment_ = false;
  std::vector<std::string> choices_;
};

// As it is written on a command line.
std::string value_text(const Option::Target& target);

// An option as help, completions, man pages and programs need it.
struct OptionWords {
  struct Use {
    std::string of, help, initial;  // of: the alternative
  };
  std::string name, type, meta, help, initial, limits, group;  // type: switch, integer, number, text, list
  std::vector<std::string> choices;
  double low = 0, high = 0;  // infinite where there is no limit
  std::vector<Use> uses;
  bool positional = false, required = false;

  bool is_switch() const { return type == "switch"; }
};

class OptionSet {
 public:
  OptionSet(std::string command, std::string summary);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  OptionSet& group(std::string title);
  OptionSet& example(std::string line);  // shown under "Examples" in help and docs
  // The variable's value at this moment is the default that help shows. The reference lives as long as the
  // set.
  Option& add(std::string name, Option::Target target, std::string help);
  template <class T>
  Option& add(std::string name, T& variable, std::string help) {
    return add(std::move(name), Option::Target(&variable), std::move(help));
  }
  template <NamedEnum E>
  Option& add(std::string name, E& variable, std::string help) {
    return add(std::move(name), Option::Target(enum_variable(variable)), std::move(help));
  }

  // From here on options belong to the alternative `name` of the option `chooser`; until common().
  OptionSet& alternative(std::string chooser, std::string name);
  OptionSet& common();
  // After parsing: values are those of this alternative. A usage error where an option was given that only
  // other alternatives have.
  void choose(const std::string& name);
  // The values of the options that the chosen alternative has declared.
  nlohmann::json chosen_json() const;

  // Adds --config FILE and --set KEY=VALUE.
  void accept_config();

  // Defaults from the environment: MDSM_NAME, empty values left out. Before parse().
  void read_environment();

  // Applies configuration files first, then everything on the command line from left to right. Throws usage
  // errors.
  void parse(std::span<const std::string> arguments);
  void load(const fs::path& toml_or_json);
  // where: for messages about the name.
  void set(std::string_view name, const std::string& value, const std::string& where = "--set");
  // For presets: sets a value that the user has not given, and leaves a given one alone.
  void set_default(std::string_view name, const std::string& value);
  bool given(std::string_view name) const;
  std::vector<std::string> given_names() const;

  nlohmann::json to_json() const;
  void from_json(const nlohmann::json& values, const std::string& where);
  // Recorded options of an earlier version under the names of today; what is no option stays as it is.
  nlohmann::json renamed(const nlohmann::json& values) const;

  const std::string& command() const { return command_; }
  const std::string& summary() const { return summary_; }
  // columns: where lines are broken; 0 = nowhere.
  std::string help(size_t columns = 0) const;
  std::string markdown() const;
  std::vector<OptionWords> words() const;  // those that are not hidden, in the order of groups
  const std::vector<std::string>& examples() const { return examples_; }
  std::string usage_line() const;
  // After declaring: an option, to add to it.
  Option& at(std::string_view name) { return find(name, "mdsm " + command_); }
  // The table for programs: a list of {name, group, type, choices, low, high, uses: [{of, help, default}]};
  // `of` is the alternative. From words(), without options given by place.
  nlohmann::json description() const;

 private:
  // dashes: before the name that was meant, in messages.
  Option& find(std::string_view name, const std::string& where, const char* dashes = "");
  std::string hint_for_place(const std::string& word, std::span<const std::string> all) const;
  const Option* find_or_null(std::string_view name) const;
  void assign_json(const std::string& key, const nlohmann::json& value, const std::string& where);

  std::string command_, summary_, current_group_ = "Options";
  std::string chooser_, declaring_, chosen_;  // --sampler; the alternative being declared; the chosen one
  std::vector<std::string> alternatives_;
  std::vector<std::string> examples_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::string> config_files_, settings_;
};

}  // namespace mdsm
