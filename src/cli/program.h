// The mdsm program as a function, for main() and for programs that add commands, samplers, objectives or data
// sources of their own to the tables before they call it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mdsm::cli {

// Finds the command, parses its options and runs it. Every error becomes one line; returns the exit code, 0,
// 1 (failure) or 2 (wrong usage).
int program(int argc, char** argv);

// One command for a program that calls it: the JSON that it prints, "" where it prints none. Throws Error.
// arguments: the command, then its options; one that asks for JSON is among them.
std::string command_json(const std::vector<std::string>& arguments);

// The options of a command for a program (OptionSet::description()), and whether it would take these words;
// the first is the command. Both throw usage errors.
nlohmann::json describe_command(const std::string& name);
void check_command(const std::vector<std::string>& arguments);

}  // namespace mdsm::cli
