// mdsm man [COMMAND]: manual pages in roff, made from the options as they are declared.
#pragma once

#include "cli/words.h"

namespace mdsm::cli {

std::string man_of_program(const std::vector<CommandWords>& commands);  // mdsm.1
std::string man_of_command(const CommandWords& command);                // mdsm-COMMAND.1

}  // namespace mdsm::cli
