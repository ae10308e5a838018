#include "cli/command.h"

namespace mdsm::cli {

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_train());
  commands.push_back(make_sample());
  commands.push_back(make_denoise());
  commands.push_back(make_inpaint());
  commands.push_back(make_restore());
  commands.push_back(make_models());
  commands.push_back(make_data());
  commands.push_back(make_describe());
  commands.push_back(make_energy());
  commands.push_back(make_evaluate());
  commands.push_back(make_modes());
  commands.push_back(make_likelihood());
  commands.push_back(make_outliers());
  commands.push_back(make_neighbours());
  commands.push_back(make_classifier());
  commands.push_back(make_reproduce());
  commands.push_back(make_check());
  commands.push_back(make_bench());
  commands.push_back(make_import());
  commands.push_back(make_export());
  return commands;
}

}  // namespace mdsm::cli
