// What is told about options: one account of the table, words(), and made of it --help, docs/cli.md and the
// description for programs. Man pages and completions are made of it elsewhere.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/options.h"
#include "core/overload.h"
#include "core/wrap.h"

namespace mdsm {
namespace {

constexpr size_t kIndent = 30;        // of the column of meanings
constexpr size_t kLeastColumns = 40;  // a terminal narrower than this is not one to wrap for

}  // namespace

std::string Option::meta_text() const {
  if (!meta_.empty()) return meta_;
  if (!choices_.empty()) return fmt::format("{}", fmt::join(choices_, "|"));
  return std::visit(
      Overload{[](bool*) -> std::string { return ""; }, [](int64_t*) -> std::string { return "INT"; },
               [](double*) -> std::string { return "NUMBER"; },
               [](std::string*) -> std::string { return "TEXT"; },
               [](std::vector<std::string>*) -> std::string { return "TEXT..."; },
               [](const EnumVariable&) -> std::string { return "NAME"; }},
      uses_.front().target);
}

std::string Option::type_text() const {
  return std::visit(
      Overload{[](bool*) { return "switch"; }, [](int64_t*) { return "integer"; },
               [](double*) { return "number"; }, [](std::string*) { return "text"; },
               [](std::vector<std::string>*) { return "list"; }, [](const EnumVariable&) { return "text"; }},
      uses_.front().target);
}

std::string Option::constraint_text() const {
  const bool has_low = std::isfinite(low_), has_high = std::isfinite(high_);
  if (has_low && has_high) return fmt::format("{} to {}", low_, high_);
  if (has_low) return open_low_ ? fmt::format("above {}", low_) : fmt::format("{} or more", low_);
  if (has_high) return fmt::format("{} or less", high_);
  return "";
}

// "fast: so; ode: otherwise"; the names are left out where all alternatives have the option and mean the
// same.
std::string Option::help_text(const std::vector<std::string>& all) const {
  std::vector<std::pair<std::string, std::vector<std::string>>> meanings;
  for (const Use& use : uses_) {
    auto found = std::ranges::find(meanings, use.help, &decltype(meanings)::value_type::first);
    if (found == meanings.end()) found = meanings.insert(found, {use.help, {}});
    found->second.push_back(use.alternative);
  }
  if (meanings.size() == 1 && (uses_.front().alternative.empty() || uses_.size() == all.size()))
    return uses_.front().help;
  std::string text;
  for (const auto& [meaning, names] : meanings)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", fmt::join(names, ", "), meaning);
  return text;
}

// "0.02 (hmc 0.05)": the first one's, and those that differ from it.
std::string Option::default_text() const {
  if (from_environment_)
    return fmt::format("{} from {}", value_text(uses_.front().target), environment_name());
  if (!shown_default_.empty()) return shown_default_;
  const std::string& first = uses_.front().initial;
  std::string others;
  for (const Use& use : uses_)
    if (use.initial != first)
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", use.alternative, use.initial);
  return others.empty() ? first : fmt::format("{} ({})", first, others);
}

std::string OptionSet::usage_line() const {
  std::string line = "mdsm " + command_;
  for (const auto& option : options_)
    if (option->positional_)
      line += option->required_ ? " " + option->meta_text() : " [" + option->meta_text() + "]";
  for (const auto& option : options_)
    if (option->required_ && !option->positional_)
      line += fmt::format(" --{} {}", option->name_, option->meta_text());
  return line + " [options]";
}

std::vector<OptionWords> OptionSet::words() const {
  std::vector<OptionWords> all;
  for (const auto& option : options_) {
    if (option->hidden_) continue;
    const auto after = std::ranges::find_if(  // the end of its group, so that a group stands together
        all.rbegin(), all.rend(), [&](const OptionWords& one) { return one.group == option->group_; });
    OptionWords one{.name = option->name_,
                    .type = option->type_text(),
                    .meta = option->meta_text(),
                    .help = option->help_text(alternatives_),
                    .initial = option->positional_ ? "" : option->default_text(),
                    .limits = option->constraint_text(),
                    .group = option->group_,
                    .choices = option->choices_,
                    .low = option->low_,
                    .high = option->high_,
                    .uses = {},
                    .positional = option->positional_,
                    .required = option->required_};
    for (const auto& use : option->uses_) one.uses.push_back({use.alternative, use.help, use.initial});
    all.insert(after == all.rend() ? all.end() : after.base(), std::move(one));
  }
  return all;
}

nlohmann::json OptionSet::description() const {
  nlohmann::json all = nlohmann::json::array();
  for (const OptionWords& option : words()) {
    if (option.positional) continue;
    nlohmann::json uses;
    for (const auto& [of, help, initial] : option.uses)
      uses.push_back({{"of", of}, {"help", help}, {"default", initial}});
    all.push_back({{"name", option.name},
                   {"group", option.group},
                   {"type", option.type},
                   {"choices", option.choices},
                   {"low", number_or_null(option.low)},
                   {"high", number_or_null(option.high)},
                   {"uses", std::move(uses)}});
  }
  return all;
}

std::string OptionSet::help(size_t columns) const {
  std::string text = fmt::format("{}\n\nUsage: {}\n", summary_, usage_line());
  const size_t wide = columns < kLeastColumns ? 0 : columns;
  std::string group;
  for (const OptionWords& option : words()) {
    if (option.group != group) text += fmt::format("\n{}:\n", group = option.group);
    std::string left = "  " + (option.positional ? option.meta : "--" + option.name);
    if (!option.positional && !option.meta.empty()) left += " " + option.meta;
    const bool told = !option.initial.empty() && option.initial != "false";
    const std::string right = option.help + (told ? fmt::format(" [{}]", option.initial) : "");
    text += left.size() < kIndent ? fmt::format("{:<{}}", left, kIndent)
                                  : fmt::format("{}\n{:{}}", wrapped(left, wide, 6), "", kIndent);
    text += wrapped(right, wide, kIndent, kIndent) + "\n";
  }
  if (!examples_.empty()) text += "\nExamples:\n";
  for (const auto& line : examples_) text += "  " + wrapped(line, wide, 6, 2) + "\n";
  return text;
}

std::string OptionSet::markdown() const {
  std::string text = fmt::format("## mdsm {}\n\n{}\n\n    {}\n", command_, summary_, usage_line());
  std::string group;
  for (const OptionWords& option : words()) {
    if (option.group != group)
      text += fmt::format("\n**{}**\n\n| option | value | default | meaning |\n|---|---|---|---|\n",
                          group = option.group);
    std::string values = option.meta;
    for (size_t at = 0; (at = values.find('|', at)) != std::string::npos; at += 2)
      values.replace(at, 1, "\\|");
    if (!option.limits.empty()) values += " (" + option.limits + ")";
    text += fmt::format("| `{}` | {} | {} | {} |\n", option.positional ? option.meta : "--" + option.name,
                        values, option.initial, option.help);
  }
  if (!examples_.empty()) {
    text += "\n";
    for (const auto& line : examples_) text += "    " + line + "\n";
  }
  return text;
}

}  // namespace mdsm
