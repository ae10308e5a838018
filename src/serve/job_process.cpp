#include "serve/job_process.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "core/resources.h"
#include "core/start_process.h"

namespace mdsm::serve {
namespace {

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : number(open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (number < 0) fail("check the folder", "{}: cannot be opened: {}", path.string(), std::strerror(errno));
  }
  ~Descriptor() { close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int number;
};

// The process that a killed server had started for this job may still be saving. It holds the lock of its
// output, which this one takes over.
void wait_for_earlier(int output) {
  constexpr int kLooks = 1200;
  constexpr std::chrono::milliseconds kLook{50};
  int look = 0;
  while (flock(output, LOCK_EX | LOCK_NB) != 0 && look++ < kLooks) std::this_thread::sleep_for(kLook);
  if (look > kLooks) fail("end it, then try again", "an earlier process of this job does not end");
  if (ftruncate(output, 0) != 0)
    fail("check the disk", "output.json cannot be emptied: {}", std::strerror(errno));
}

// The sanitizers' own memory would count as a job's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

}  // namespace

JobProcess::JobProcess(const std::vector<std::string>& words, const fs::path& folder, size_t memory) {
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
  const Descriptor input("/dev/null", O_RDONLY), output(folder / "output.json", O_WRONLY | O_CREAT),
      errors(folder / "errors.txt", kNew);
  wait_for_earlier(output.number);
  ProcessStart start{.name = "the job", .command = {program_path().string()}};
  start.command.insert(start.command.end(), words.begin(), words.end());
  start.own_group = true;  // Ctrl-C ends the server, which asks its jobs to end and keeps them
  start.input = input.number, start.output = output.number, start.errors = errors.number;
  pid_ = start_process(start);
  const rlimit most{memory, memory};
  if (kLimitsMemory && memory > 0) prlimit(pid_, RLIMIT_DATA, &most, nullptr);
}

JobProcess::~JobProcess() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<int> JobProcess::ended() {
  if (until_ && std::chrono::steady_clock::now() > *until_) kill(pid_, SIGKILL);
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return status;
}

void JobProcess::ask_to_end(std::chrono::seconds patience) {
  if (until_ || pid_ < 0) return;
  kill(pid_, SIGTERM);
  until_ = std::chrono::steady_clock::now() + patience;
}

std::string last_line_of(const fs::path& file) {
  constexpr std::streamoff kTail = 2000;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return "";
  const std::streamoff size = in.tellg(), from = std::max<std::streamoff>(0, size - kTail);
  std::string text(static_cast<size_t>(size - from), '\0');
  in.seekg(from).read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
  text.resize(text.find_last_of('\n') == std::string::npos ? 0 : text.find_last_of('\n'));
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 && c != '\n'; }, ' ');
  return last_line(text);
}

}  // namespace mdsm::serve
