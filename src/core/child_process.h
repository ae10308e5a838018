// A program that answers one line for every line it is sent. Whatever goes wrong with it (not there, dead,
// silent for too long, not talking sense) becomes one clear error that names it.
#pragma once

#include <string>
#include <vector>

#include "core/start_process.h"

namespace mdsm {

class ChildProcess {
 public:
  // name: for messages, "the PyTorch peer". command[0] is looked up in PATH. The child dies with this
  // process.
  ChildProcess(std::string name, const std::vector<std::string>& command, const Environment& environment);
  ~ChildProcess();  // ends the child
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends the line and waits for the answer. The child is frozen outside of this call, so that threads of an
  // idle child that spin while they wait for work take no core from whoever is measured.
  std::string exchange(const std::string& line, double timeout_seconds);

 private:
  void send_all(std::string line);
  [[noreturn]] void fail_ended();
  std::string last_words() const;  // the last line the child wrote to its standard error

  std::string name_;
  int pid_ = -1;
  int socket_ = -1;  // the child's standard input and output
  int errors_ = -1;  // a file in memory that gets its standard error
  std::string received_;
};

}  // namespace mdsm
