// Starting another program, and how it ended. Talking with it is core/child_process.h, running it to its end
// core/run_program.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mdsm {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct ProcessStart {
  std::string name;                          // for messages, "the PyTorch peer"
  std::vector<std::string> command;          // command[0] is looked up in PATH
  Environment environment = {};              // added to this process's own
  int input = -1, output = -1, errors = -1;  // descriptors of its standard streams; -1: those of this process
  bool own_group = false;                    // what a terminal sends (Ctrl-C) does not reach it
  int death_signal = 15;                     // what it gets when this process dies: SIGTERM
};

// The process id. Throws when it cannot be started, also when there is no such program.
int start_process(const ProcessStart& start);

// Of the status that waitpid gives: "exit code 3", "ended by signal 9 (Killed)".
std::string ending_text(int status);

std::string last_line(std::string text);  // without the line breaks at the end

}  // namespace mdsm
