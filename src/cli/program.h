// The mdsm program as a function, for main() and for programs that add commands, samplers, objectives or data
// sources of their own to the tables before they call it.
#pragma once

namespace mdsm::cli {

// Finds the command, parses its options and runs it. Every error becomes one line; returns the exit code, 0,
// 1 (failure) or 2 (wrong usage).
int program(int argc, char** argv);

}  // namespace mdsm::cli
