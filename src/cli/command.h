// A command of the mdsm program: declares its options, then runs. One short file per command defines one of
// these; commands.cpp lists them all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/options.h"

namespace mdsm::cli {

class Command {
 public:
  virtual ~Command() = default;
  virtual const char* name() const = 0;
  virtual const char* summary() const = 0;  // one line for `mdsm --help`
  virtual void declare(OptionSet& options) = 0;
  // Returns the exit code. `options` is the parsed set, for commands that save or layer options.
  virtual int run(OptionSet& options) = 0;
};

// All commands in the order of `mdsm --help`.
std::vector<std::unique_ptr<Command>> all_commands();

std::unique_ptr<Command> make_bench();
std::unique_ptr<Command> make_check();
std::unique_ptr<Command> make_classifier();
std::unique_ptr<Command> make_data();
std::unique_ptr<Command> make_denoise();
std::unique_ptr<Command> make_describe();
std::unique_ptr<Command> make_train();
std::unique_ptr<Command> make_energy();
std::unique_ptr<Command> make_evaluate();
std::unique_ptr<Command> make_export();
std::unique_ptr<Command> make_import();
std::unique_ptr<Command> make_inpaint();
std::unique_ptr<Command> make_likelihood();
std::unique_ptr<Command> make_neighbours();
std::unique_ptr<Command> make_outliers();
std::unique_ptr<Command> make_models();
std::unique_ptr<Command> make_modes();
std::unique_ptr<Command> make_reproduce();
std::unique_ptr<Command> make_restore();
std::unique_ptr<Command> make_sample();

}  // namespace mdsm::cli
