// mdsm completion SHELL: scripts that complete commands, options and values, made from the options as they
// are declared.
#pragma once

#include "cli/words.h"

namespace mdsm::cli {

std::string bash_completion(const std::vector<CommandWords>& commands);
std::string zsh_completion(const std::vector<CommandWords>& commands);
std::string fish_completion(const std::vector<CommandWords>& commands);

}  // namespace mdsm::cli
