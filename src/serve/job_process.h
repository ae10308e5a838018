// The process of a job: started with bounds on its memory, looked at while it runs, asked to end and made to.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"

namespace mdsm::serve {

class JobProcess {
 public:
  // Its standard output and error go to files of the folder. memory: bytes of data it may have.
  JobProcess(const std::vector<std::string>& words, const fs::path& folder, size_t memory);
  ~JobProcess();  // kills it where it still runs
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  // The status of waitpid() once it has ended.
  std::optional<int> ended();
  // It may save and end; where it has not after `patience`, it is killed.
  void ask_to_end(std::chrono::seconds patience);

 private:
  int pid_ = -1;
  std::optional<std::chrono::steady_clock::time_point> until_;
};

// The last whole line of what a process has written to a file so far.
std::string last_line_of(const fs::path& file);

}  // namespace mdsm::serve
