// Runs a program to its end: standard output into a file, standard error to the terminal where there is one,
// else into a file beside it. A stop asked of this process is handed on to the child, which saves and ends.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/files.h"

namespace mdsm {

struct ProgramEnd {
  bool good = false;
  std::string how;  // "exit code 1: last line it wrote"
};

ProgramEnd run_program(const std::vector<std::string>& command, const fs::path& output,
                       const fs::path& errors, const std::atomic<bool>& stop);

}  // namespace mdsm
