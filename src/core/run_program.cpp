#include "reproduce/run_program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/error.h"

namespace mdsm::reproduce {
namespace {

constexpr useconds_t kLookEvery = 20'000;  // microseconds between looks at the child

int open_new(const fs::path& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail("check the folder", "{}: cannot be written: {}", path.string(), std::strerror(errno));
  return file;
}

std::string last_line(const fs::path& path) {
  std::string text = read_text(path);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become(char* const* arguments, int output, int errors, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // it died before the line above
  if (dup2(output, 1) >= 0 && (errors < 0 || dup2(errors, 2) >= 0)) execv(arguments[0], arguments);
  _exit(127);
}

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
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const bool terminal = isatty(2);
  const int out = open_new(output), err = terminal ? -1 : open_new(errors);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) become(arguments.data(), out, err, parent);
  const int error = errno;
  close(out);
  if (err >= 0) close(err);
  if (child < 0) fail("close other programs", "{} cannot be started: {}", command[0], std::strerror(error));
  const int status = wait_for(child, stop);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {true, ""};
  const std::string said = terminal ? "" : last_line(errors);
  const std::string how =
      WIFSIGNALED(status)
          ? fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
          : fmt::format("exit code {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return {false, said.empty() ? how : how + ": " + said};
}

}  // namespace mdsm::reproduce
