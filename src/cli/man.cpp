#include "cli/man.h"

#include <mdsm/version.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace mdsm::cli {
namespace {

// The code point that begins at `at`, which moves behind it. The text is our own, so it is UTF-8.
uint32_t next_character(const std::string& text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  uint32_t code = first & (first < 0xe0 ? 0x1f : first < 0xf0 ? 0x0f : 0x07);
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
    code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3f);
  return code;
}

// Plain text as roff: dashes that can be copied, no letters beyond ASCII, no line that looks like a request.
std::string roff(const std::string& text) {
  std::string out = !text.empty() && (text[0] == '.' || text[0] == '\'') ? "\\&" : "";
  for (size_t at = 0; at < text.size();) {
    const uint32_t code = next_character(text, at);
    if (code >= 0x80)
      out += fmt::format("\\[u{:04X}]", code);
    else if (code == '-')
      out += "\\-";
    else if (code == '\\')
      out += "\\e";
    else
      out += static_cast<char>(code);
  }
  return out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string head(const std::string& name, const std::string& summary, const std::string& usage) {
  return fmt::format(
      ".\\\" Made by `mdsm man`.\n.TH {} 1 \"\" \"mdsm {}\" \"mdsm manual\"\n.SH NAME\n{} \\- {}\n.SH "
      "SYNOPSIS\n"
      ".nh\n.ad l\n.B {}\n.ad\n.hy\n",
      upper(roff(name)), MDSM_VERSION, roff(name), roff(summary), roff(usage));
}

std::string paragraph(const OptionWords& option) {
  const std::string name =
      option.positional
          ? fmt::format("\\fI{}\\fR", roff(option.meta))
          : fmt::format("\\fB\\-\\-{}\\fR{}", roff(option.name),
                        option.meta.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(option.meta)));
  std::string meaning = option.help;
  if (!option.limits.empty()) meaning += fmt::format(" ({})", option.limits);
  if (!option.initial.empty() && option.initial != "false") meaning += fmt::format(" [{}]", option.initial);
  return fmt::format(".TP\n{}\n{}\n", name, roff(meaning));
}

constexpr const char* kCommonEnd =
    ".SH ENVIRONMENT\nA default of one's own: \\fBMDSM_THREADS=4\\fR is the default of "
    "\\fB\\-\\-threads\\fR, "
    "\\fBMDSM_SIGMA_MAX=3\\fR of \\fB\\-\\-sigma\\-max\\fR, and so on for all that a configuration file may "
    "set, "
    "except \\fB\\-\\-data\\fR.\n.TP\n.B MDSM_DATA\nfolder of data sets\n.TP\n.B MDSM_MODELS\nfolder of the "
    "models "
    "that come with mdsm\n.TP\n.B MDSM_PROGRESS_SECONDS\nseconds between lines of progress where there is no "
    "terminal\n.SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage; 3 from \\fBmdsm score\\fR when it found "
    "outliers.\n";

}  // namespace

std::string man_of_program(const std::vector<CommandWords>& commands) {
  std::string text =
      head("mdsm", "train, sample and measure energy-based image models", "mdsm COMMAND [options]");
  text += fmt::format(
      ".SH DESCRIPTION\nEnergy\\-based image models by multiscale denoising score matching.\n.SH COMMANDS\n");
  std::string pages;
  for (const CommandWords& command : commands) {
    text += fmt::format(".TP\n.B {}\n{}\n", roff(command.name), roff(command.summary));
    pages += fmt::format("{}.BR mdsm\\-{} (1)", pages.empty() ? "" : ",\n", roff(command.name));
  }
  return text + kCommonEnd + ".SH SEE ALSO\n" + pages + "\n";
}

std::string man_of_command(const CommandWords& command) {
  std::string text = head("mdsm-" + command.name, command.summary, command.usage) + ".SH OPTIONS\n";
  std::string group;
  for (const OptionWords& option : command.options) {
    if (option.group != group) text += fmt::format(".SS {}\n", roff(group = option.group));
    text += paragraph(option);
  }
  if (!command.examples.empty()) text += ".SH EXAMPLES\n.nf\n";
  for (const std::string& line : command.examples) text += roff(line) + "\n";
  if (!command.examples.empty()) text += ".fi\n";
  return text + kCommonEnd + ".SH SEE ALSO\n.BR mdsm (1)\n";
}

}  // namespace mdsm::cli
