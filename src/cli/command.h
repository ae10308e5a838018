// A command of the mdsm program: declares its options, then runs. One short file NAME.cpp per command
// defines one of these and the function make_NAME(); commands.cpp lists them all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/options.h"
#include "distributed/communicator.h"

namespace mdsm::cli {

class Command {
 public:
  virtual ~Command() = default;
  virtual const char* name() const = 0;
  virtual const char* summary() const = 0;  // one line for `mdsm --help`
  virtual void declare(OptionSet& options) = 0;
  // Whether several processes can share its work.
  virtual bool together() const { return false; }
  // Returns the exit code. `options` is the parsed set, for commands that save or layer options.
  virtual int run(OptionSet& options) = 0;

  // What every command has, set before run(): --json prints JSON for machines, --quiet keeps all but warnings
  // and errors from standard error.
  bool as_json = false, quiet = false;
  // The processes that run it, set before run(); this one alone where no launcher started more.
  distributed::Communicator* world = &distributed::alone();
};

using MakeCommand = std::unique_ptr<Command> (*)();

// All commands in the order of `mdsm --help`: those of the table in commands.cpp, then those that were added.
std::vector<std::unique_ptr<Command>> all_commands();
void add_command(MakeCommand make);

}  // namespace mdsm::cli
