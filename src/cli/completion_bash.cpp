#include <map>

#include "cli/completion.h"

namespace mdsm::cli {
namespace {

constexpr const char* kHead = R"(# bash completion of mdsm, made by `mdsm completion bash`

_mdsm_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }
_mdsm_paths() {  # KIND WORDS CURRENT
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$3"; compgen -W "$2" -- "$3")
}

_mdsm() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options=
  COMPREPLY=()
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// The call that offers these values; ":" where nothing is known of them.
std::string offer(const ValueWords& values) {
  if (values.files || values.folders)
    return fmt::format("_mdsm_paths {} '{}' \"$current\"", values.files ? "-f" : "-d", joined(values.words));
  return values.words.empty() ? ":" : fmt::format("_mdsm_words '{}' \"$current\"", joined(values.words));
}

std::string block(const CommandWords& command) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> offers;
  for (const OptionWords& option : command.options) {
    if (option.positional) continue;
    names.push_back("--" + option.name);
    if (!option.is_switch()) offers[offer(value_words(option))].push_back("--" + option.name);
  }
  std::string text =
      fmt::format("    {})\n      options='{} --help'\n      case $before in\n", command.name, joined(names));
  for (const auto& [call, of] : offers)
    text += fmt::format("        {}) {}; return ;;\n", fmt::join(of, "|"), call);
  return text + fmt::format("      esac\n      [[ $current == -* ]] || {{ {}; return; }}\n      ;;\n",
                            offer(place_words(command)));
}

}  // namespace

std::string bash_completion(const std::vector<CommandWords>& commands) {
  std::vector<std::string> names;
  for (const CommandWords& command : commands) names.push_back(command.name);
  std::string text = kHead;
  text += fmt::format(
      "  if ((COMP_CWORD == 1)); then\n    _mdsm_words '{0} help --help --version' \"$current\"\n    "
      "return\n  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n    help) options='{0}' ;;\n",
      joined(names));
  for (const CommandWords& command : commands) text += block(command);
  return text + "  esac\n  _mdsm_words \"$options\" \"$current\"\n}\ncomplete -F _mdsm mdsm\n";
}

}  // namespace mdsm::cli
