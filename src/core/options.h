// Options declared once: the same table gives the command-line parser, --help, docs/cli.md, the keys of TOML
// and JSON configuration files, --set key=value, and the options.json of a run. Unknown keys are errors
// everywhere.
//
//   OptionSet options("train", "Train an energy model");
//   options.group("Network").add("width", width, "channels of the first layer").range(4, 4096);
//   options.parse({"--width", "16"});
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

#include "core/files.h"

namespace mdsm {

class Option {
 public:
  using Target = std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*>;

  Option& range(double low, double high = std::numeric_limits<double>::infinity());  // both ends allowed
  Option& above(double low);                                                         // low itself not allowed
  Option& choices(std::vector<std::string> allowed);
  Option& required();
  Option& meta(std::string name);  // the word for the value in help, instead of its type
  Option& positional();            // given by place instead of by --name; a list takes all that is left
  Option& command_line_only();     // not a configuration key and not part of the saved options

 private:
  friend class OptionSet;
  Option(std::string name, Target target, std::string help, std::string group);
  void assign(const std::string& text, bool append);
  void check_number(double value) const;
  [[noreturn]] void reject(const std::string& value, const std::string& hint) const;
  std::string value_text() const;
  std::string meta_text() const;
  std::string constraint_text() const;
  std::string display_name() const;

  std::string name_, help_, group_, meta_, default_;
  Target target_;
  double low_ = -std::numeric_limits<double>::infinity(), high_ = std::numeric_limits<double>::infinity();
  bool open_low_ = false, required_ = false, positional_ = false, given_ = false, saved_ = true;
  std::vector<std::string> choices_;
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
  // Adds --config FILE and --set KEY=VALUE.
  void accept_config();

  // Applies configuration files first, then everything on the command line from left to right. Throws usage
  // errors.
  void parse(std::span<const std::string> arguments);
  void load(const fs::path& toml_or_json);
  void set(std::string_view name, const std::string& value);
  // For presets: sets a value that the user has not given, and leaves a given one alone.
  void set_default(std::string_view name, const std::string& value);
  bool given(std::string_view name) const;
  std::vector<std::string> given_names() const;

  nlohmann::json to_json() const;
  void from_json(const nlohmann::json& values, const std::string& where);

  const std::string& command() const { return command_; }
  const std::string& summary() const { return summary_; }
  std::string help() const;
  std::string markdown() const;

 private:
  Option& find(std::string_view name, const std::string& where);
  const Option* find_or_null(std::string_view name) const;
  void assign_json(const std::string& key, const nlohmann::json& value, const std::string& where);
  std::string usage_line() const;

  std::string command_, summary_, current_group_ = "Options";
  std::vector<std::string> examples_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::string> config_files_, settings_;
};

}  // namespace mdsm
