#include "cli/command.h"

namespace mdsm::cli {

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_train());
  commands.push_back(make_data());
  commands.push_back(make_describe());
  commands.push_back(make_energy());
  commands.push_back(make_check());
  commands.push_back(make_import());
  commands.push_back(make_export());
  return commands;
}

}  // namespace mdsm::cli
