#include "cli/command.h"

// Every command that ships, in the order of `mdsm --help`.
#define MDSM_COMMANDS(each)                                                                                  \
  each(train) each(sample) each(denoise) each(inpaint) each(restore) each(models) each(data) each(describe)  \
      each(energy) each(landscape) each(evaluate) each(modes) each(likelihood) each(outliers) each(score)    \
          each(neighbours) each(classifier) each(reproduce) each(serve) each(check) each(bench) each(import) \
              each(export)

namespace mdsm::cli {

#define MDSM_DECLARE(name) std::unique_ptr<Command> make_##name();
MDSM_COMMANDS(MDSM_DECLARE)

namespace {
#define MDSM_LIST(name) make_##name,
std::vector<MakeCommand>& table() {
  static std::vector<MakeCommand> makers = {MDSM_COMMANDS(MDSM_LIST)};
  return makers;
}
}  // namespace

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  for (const MakeCommand make : table()) commands.push_back(make());
  return commands;
}

void add_command(MakeCommand make) { table().push_back(make); }

}  // namespace mdsm::cli
