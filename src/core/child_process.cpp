#include "core/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace mdsm {
namespace {

constexpr size_t kLongestAnswer = size_t{1} << 24;

// Between fork and exec: only what is safe there. A failed exec is told through the report pipe.
[[noreturn]] void become(char* const* arguments, int socket, int errors, int report, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before the line above
  if (dup2(socket, 0) >= 0 && dup2(socket, 1) >= 0 && dup2(errors, 2) >= 0) execvp(arguments[0], arguments);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(127);
}

std::string ending(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with exit code {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

}  // namespace

ChildProcess::ChildProcess(std::string name, const std::vector<std::string>& command,
                           const Environment& environment)
    : name_(std::move(name)) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2] = {-1, -1}, report[2] = {-1, -1};
  errors_ = memfd_create("errors", MFD_CLOEXEC);
  if (errors_ < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
      pipe2(report, O_CLOEXEC) != 0)
    fail("close other programs", "{} cannot be started: {}", name_, std::strerror(errno));
  socket_ = ends[0];
  // The child inherits the environment; set for it, then put back what was there.
  Environment before;
  std::vector<std::string> unset;
  for (const auto& [key, value] : environment) {
    const char* old = std::getenv(key.c_str());
    if (old)
      before.emplace_back(key, old);
    else
      unset.push_back(key);
    setenv(key.c_str(), value.c_str(), 1);
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(arguments.data(), ends[1], errors_, report[1], parent);
  for (const auto& [key, value] : before) setenv(key.c_str(), value.c_str(), 1);
  for (const std::string& key : unset) unsetenv(key.c_str());
  close(ends[1]);
  close(report[1]);
  int error = pid_ < 0 ? errno : 0;
  if (pid_ > 0 && read(report[0], &error, sizeof error) != sizeof error) error = 0;  // closed by a good exec
  close(report[0]);
  if (error == 0) return;
  close(socket_);
  close(errors_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  fail("check that the program exists and can be run", "{} cannot be started: {}: {}", name_, command[0],
       std::strerror(error));
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);  // works on a frozen process too
    waitpid(pid_, nullptr, 0);
  }
  close(socket_);
  close(errors_);
}

std::string ChildProcess::exchange(const std::string& line, double timeout_seconds) {
  using Clock = std::chrono::steady_clock;
  if (pid_ < 0) fail("start it again", "{} is not running any more", name_);
  kill(pid_, SIGCONT);
  send_all(line + "\n");
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_seconds);
  for (size_t end; (end = received_.find('\n')) == std::string::npos;) {
    const std::chrono::duration<double, std::milli> left = deadline - Clock::now();
    pollfd waiting{socket_, POLLIN, 0};
    const int ready =
        left.count() > 0 ? poll(&waiting, 1, static_cast<int>(std::min(left.count() + 1, 1e9))) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0)
      fail("raise --timeout, or measure a smaller network", "{} gave no answer within {:g} s", name_,
           timeout_seconds);
    char chunk[4096];
    const ssize_t count = recv(socket_, chunk, sizeof chunk, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_ended();
    received_.append(chunk, static_cast<size_t>(count));
    if (received_.size() > kLongestAnswer)
      fail("check what it prints", "{} sent more than {} bytes without an end of line", name_,
           kLongestAnswer);
  }
  kill(pid_, SIGSTOP);
  const size_t end = received_.find('\n');
  std::string answer = received_.substr(0, end);
  received_.erase(0, end + 1);
  return answer;
}

void ChildProcess::send_all(std::string line) {
  while (!line.empty()) {
    const ssize_t count = send(socket_, line.data(), line.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_ended();
    line.erase(0, static_cast<size_t>(count));
  }
}

void ChildProcess::fail_ended() {
  // It may have closed its output and go on; then it is of no more use either.
  int status = 0;
  for (int tries = 0; tries < 100 && waitpid(pid_, &status, WNOHANG) == 0; ++tries) {
    usleep(10000);
    if (tries == 98) kill(pid_, SIGKILL);
  }
  pid_ = -1;
  const std::string said = last_words();
  fail(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "perhaps memory ran out: measure a smaller batch"
                                                          : "run it by hand to see more",
       "{} {}{}", name_, ending(status), said.empty() ? "" : ": " + said);
}

std::string ChildProcess::last_words() const {
  char tail[2048];
  const off_t size = lseek(errors_, 0, SEEK_END);
  const ssize_t count =
      pread(errors_, tail, sizeof tail, std::max<off_t>(0, size - static_cast<off_t>(sizeof tail)));
  std::string said(tail, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const size_t line = said.rfind('\n');
  return line == std::string::npos ? said : said.substr(line + 1);
}

}  // namespace mdsm
