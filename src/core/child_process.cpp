#include "core/child_process.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/error.h"

namespace mdsm {
namespace {

constexpr size_t kLongestAnswer = size_t{1} << 24;

}  // namespace

ChildProcess::ChildProcess(std::string name, const std::vector<std::string>& command,
                           const Environment& environment)
    : name_(std::move(name)) {
  int ends[2] = {-1, -1};
  errors_ = memfd_create("errors", MFD_CLOEXEC);
  if (errors_ < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    const int error = errno;
    close(errors_);
    fail("close other programs", "{} cannot be started: {}", name_, std::strerror(error));
  }
  socket_ = ends[0];
  try {
    pid_ = start_process({.name = name_,
                          .command = command,
                          .environment = environment,
                          .input = ends[1],
                          .output = ends[1],
                          .errors = errors_,
                          .death_signal = SIGKILL});
  } catch (...) {
    for (const int descriptor : {socket_, errors_, ends[1]}) close(descriptor);
    throw;
  }
  close(ends[1]);
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
  size_t end, searched = 0;
  while ((end = received_.find('\n', searched)) == std::string::npos) {
    searched = received_.size();
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
       "{} {} {}{}", name_, WIFSIGNALED(status) ? "was" : "ended with", ending_text(status),
       said.empty() ? "" : ": " + said);
}

std::string ChildProcess::last_words() const {
  char tail[2048];
  const off_t size = lseek(errors_, 0, SEEK_END);
  const ssize_t count =
      pread(errors_, tail, sizeof tail, std::max<off_t>(0, size - static_cast<off_t>(sizeof tail)));
  return last_line({tail, static_cast<size_t>(std::max<ssize_t>(count, 0))});
}

}  // namespace mdsm
