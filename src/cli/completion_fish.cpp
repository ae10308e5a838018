#include "cli/completion.h"

namespace mdsm::cli {
namespace {

// Inside '...' of fish.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  return out + "'";
}

std::string offered(const ValueWords& values) {
  return values.words.empty() ? "" : " -a " + quoted(fmt::format("{}", fmt::join(values.words, " ")));
}

bool has_paths(const ValueWords& values) { return values.files || values.folders; }

std::string line(const CommandWords& command, const OptionWords& option) {
  std::string text = fmt::format("complete -c mdsm -n '__mdsm_command {}' -l {} -d {}", command.name,
                                 option.name, quoted(brief(option.help)));
  if (option.is_switch()) return text + " -f\n";
  const ValueWords values = value_words(option);
  return text + (has_paths(values) ? " -r -F" : " -x") + offered(values) + "\n";
}

}  // namespace

std::string fish_completion(const std::vector<CommandWords>& commands) {
  std::string text =
      "# fish completion of mdsm, made by `mdsm completion fish`\n\n"
      "function __mdsm_command\n    set -l words (commandline -opc)\n"
      "    test (count $words) -gt 1; and test \"$words[2]\" = $argv[1]\nend\n"
      "function __mdsm_first\n    test (count (commandline -opc)) -eq 1\nend\n\n"
      "complete -c mdsm -f\n"
      "complete -c mdsm -n __mdsm_first -l help -d 'list the commands'\n"
      "complete -c mdsm -n __mdsm_first -l version -d 'show what this build can do'\n"
      "complete -c mdsm -n __mdsm_first -a help -d 'show the options of a command'\n";
  for (const CommandWords& command : commands) {
    text += fmt::format(
        "\ncomplete -c mdsm -n __mdsm_first -a {0} -d {1}\n"
        "complete -c mdsm -n '__mdsm_command help' -a {0} -d {1}\n",
        command.name, quoted(brief(command.summary)));
    const ValueWords places = place_words(command);
    if (places.any())
      text += fmt::format("complete -c mdsm -n '__mdsm_command {}'{}{}\n", command.name,
                          has_paths(places) ? " -F" : "", offered(places));
    for (const OptionWords& option : command.options)
      if (!option.positional) text += line(command, option);
  }
  return text;
}

}  // namespace mdsm::cli
