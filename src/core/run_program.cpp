#include "core/run_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/start_process.h"

namespace mdsm {
namespace {

constexpr useconds_t kLookEvery = 20'000;  // microseconds between looks at the child

class OutputFile {
 public:
  explicit OutputFile(const fs::path& path)
      : descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (descriptor < 0)
      fail("check the folder", "{}: cannot be written: {}", path.string(), std::strerror(errno));
  }
  ~OutputFile() { close(descriptor); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const int descriptor;
};

int wait_for(pid_t child, const std::atomic<bool>& stop) {
  bool told = false;
  for (int status = 0;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return -1;
    if (stop && !told) {
      // In a terminal the child got the Ctrl-C too, and a second signal would end it before it has saved.
      if (!isatty(0)) kill(child, SIGTERM);
      told = true;
    }
    usleep(kLookEvery);
  }
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& command, const fs::path& output,
                       const fs::path& errors, const std::atomic<bool>& stop) {
  const bool terminal = isatty(2);
  ProcessStart start{.name = command[0], .command = command};
  const OutputFile out(output);
  std::optional<OutputFile> err;
  if (!terminal) err.emplace(errors);
  start.output = out.descriptor;
  if (err) start.errors = err->descriptor;
  const int status = wait_for(start_process(start), stop);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {true, ""};
  const std::string said = terminal ? "" : last_line(read_text(errors)), how = ending_text(status);
  return {false, said.empty() ? how : how + ": " + said};
}

}  // namespace mdsm
