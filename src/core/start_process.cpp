#include "core/start_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "core/error.h"

namespace mdsm {
namespace {

// The child inherits the environment: set for it, then put back as it was.
class EnvironmentGuard {
 public:
  explicit EnvironmentGuard(const Environment& environment) {
    for (const auto& [key, value] : environment) {
      const char* old = std::getenv(key.c_str());
      before_.emplace_back(key, old ? std::optional<std::string>(old) : std::nullopt);
      setenv(key.c_str(), value.c_str(), 1);
    }
  }
  ~EnvironmentGuard() {
    for (const auto& [key, value] : before_)
      if (value)
        setenv(key.c_str(), value->c_str(), 1);
      else
        unsetenv(key.c_str());
  }
  EnvironmentGuard(const EnvironmentGuard&) = delete;
  EnvironmentGuard& operator=(const EnvironmentGuard&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

// Between fork and exec: only what is safe there. A failed exec is told through the report pipe.
[[noreturn]] void become(const ProcessStart& start, char* const* arguments, int report, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, start.death_signal);
  if (getppid() != parent) _exit(127);  // it died before the line above
  if (start.own_group) setpgid(0, 0);
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_DFL);  // ignored ones are inherited
  const int streams[] = {start.input, start.output, start.errors};
  bool good = true;
  for (int stream = 0; stream < 3; ++stream)
    good = good && (streams[stream] < 0 || dup2(streams[stream], stream) >= 0);
  // Files that a library opened without O_CLOEXEC, as connections of the server: not the child's.
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (good) execvp(arguments[0], arguments);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(127);
}

}  // namespace

int start_process(const ProcessStart& start) {
  std::vector<char*> arguments;
  for (const std::string& word : start.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int report[2] = {-1, -1};
  if (pipe2(report, O_CLOEXEC) != 0)
    fail("close other programs", "{} cannot be started: {}", start.name, std::strerror(errno));
  const EnvironmentGuard environment(start.environment);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) become(start, arguments.data(), report[1], parent);
  int error = child < 0 ? errno : 0;
  close(report[1]);
  if (child > 0 && read(report[0], &error, sizeof error) != sizeof error) error = 0;  // closed by a good exec
  close(report[0]);
  if (error == 0) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  fail("check that the program exists and can be run", "{} cannot be started: {}: {}", start.name,
       start.command[0], std::strerror(error));
}

std::string ending_text(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

}  // namespace mdsm
