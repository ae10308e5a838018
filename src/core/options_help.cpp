// Options for people: --help and docs/cli.md.
#include <algorithm>

#include "core/options.h"

namespace mdsm {

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

std::string OptionSet::help() const {
  std::string text = fmt::format("{}\n\nUsage: {}\n", summary_, usage_line());
  std::vector<std::string> groups;
  for (const auto& option : options_)
    if (std::find(groups.begin(), groups.end(), option->group_) == groups.end())
      groups.push_back(option->group_);
  for (const auto& title : groups) {
    text += fmt::format("\n{}:\n", title);
    for (const auto& option : options_) {
      if (option->group_ != title) continue;
      std::string left = "  " + option->display_name();
      if (!option->positional_ && !option->meta_text().empty()) left += " " + option->meta_text();
      const std::string initial = option->default_text();
      const std::string right =
          option->help_text(alternatives_) +
          (initial.empty() || initial == "false" || option->positional_ ? "" : fmt::format(" [{}]", initial));
      text += left.size() < 30 ? fmt::format("{:<30}{}\n", left, right)
                               : fmt::format("{}\n{:30}{}\n", left, "", right);
    }
  }
  if (!examples_.empty()) text += "\nExamples:\n";
  for (const auto& line : examples_) text += "  " + line + "\n";
  return text;
}

std::string OptionSet::markdown() const {
  std::string text = fmt::format("## mdsm {}\n\n{}\n\n    {}\n", command_, summary_, usage_line());
  std::string last_group;
  for (const auto& option : options_) {
    if (option->group_ != last_group) {
      last_group = option->group_;
      text +=
          fmt::format("\n**{}**\n\n| option | value | default | meaning |\n|---|---|---|---|\n", last_group);
    }
    std::string values = option->meta_text();
    for (size_t at = 0; (at = values.find('|', at)) != std::string::npos; at += 2)
      values.replace(at, 1, "\\|");
    if (const std::string limits = option->constraint_text(); !limits.empty()) values += " (" + limits + ")";
    text += fmt::format("| `{}` | {} | {} | {} |\n", option->display_name(), values,
                        option->positional_ ? "" : option->default_text(), option->help_text(alternatives_));
  }
  if (!examples_.empty()) {
    text += "\n";
    for (const auto& line : examples_) text += "    " + line + "\n";
  }
  return text;
}

}  // namespace mdsm
