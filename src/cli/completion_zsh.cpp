#include <map>

#include "cli/completion.h"

namespace mdsm::cli {
namespace {

// Inside '...' of the shell and a [...] of _arguments.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += fmt::format("\\{}", c);
    else
      out += c;
  }
  return out;
}

// What offers values: an action of _arguments, or a function of our own where words and paths are mixed.
class Actions {
 public:
  std::string of(const ValueWords& values) {
    const std::string words = fmt::format("{}", fmt::join(values.words, " "));
    const std::string paths = values.files ? "_files" : "_files -/";
    if (!values.files && !values.folders) return values.words.empty() ? " " : fmt::format("({})", words);
    if (values.words.empty()) return paths;
    const auto known =
        names_.emplace(fmt::format("_alternative 'words:name:({})' 'files:file:{}'", words, paths),
                       fmt::format("_mdsm_values_{}", names_.size() + 1));
    return known.first->second;
  }
  std::string functions() const {
    std::string text;
    for (const auto& [body, name] : names_) text += fmt::format("{}() {{\n  {}\n}}\n", name, body);
    return text;
  }

 private:
  std::map<std::string, std::string> names_;  // by what they do
};

std::string specification(const OptionWords& option, Actions& actions) {
  if (option.is_switch()) return fmt::format("'--{}[{}]'", option.name, escaped(brief(option.help)));
  return fmt::format("'*--{}=[{}]:{}:{}'", option.name, escaped(brief(option.help)), escaped(option.meta),
                     actions.of(value_words(option)));
}

std::string block(const CommandWords& command, Actions& actions) {
  std::string text = fmt::format("        {})\n          _arguments \\\n", command.name);
  for (const OptionWords& option : command.options)
    if (!option.positional) text += fmt::format("            {} \\\n", specification(option, actions));
  text += "            '--help[show the options]'";
  if (const ValueWords values = place_words(command); values.any())
    text += fmt::format(" \\\n            '*:argument:{}'", actions.of(values));
  return text + "\n          ;;\n";
}

constexpr const char* kState = R"(    'help:show the options of a command'
  )
  _arguments -C '--help[list the commands]' '--version[show what this build can do]' \
    '1: :->command' '*:: :->arguments'
  case $state in
    command) _describe command commands ;;
    arguments)
      case $words[1] in
        help) _describe command commands ;;
)";

// Loaded by name from a folder of $fpath, or sourced.
constexpr const char* kEnd = R"(      esac
      ;;
  esac
}

if [ "$funcstack[1]" = _mdsm ]; then
  _mdsm "$@"
else
  compdef _mdsm mdsm
fi
)";

}  // namespace

std::string zsh_completion(const std::vector<CommandWords>& commands) {
  Actions actions;
  std::string blocks, list;
  for (const CommandWords& command : commands) {
    blocks += block(command, actions);
    list += fmt::format("    '{}:{}'\n", command.name, escaped(brief(command.summary)));
  }
  return "#compdef mdsm\n# zsh completion of mdsm, made by `mdsm completion zsh`\n\n" + actions.functions() +
         "\n_mdsm() {\n  local context state state_descr line\n  typeset -A opt_args\n  local -a commands\n"
         "  commands=(\n" +
         list + kState + blocks + kEnd;
}

}  // namespace mdsm::cli
