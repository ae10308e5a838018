// The target that the environment variable FUZZ_TARGET names, for libFuzzer (scripts/fuzz). Checksums are put
// right after a change (mend.h). An input that takes more than two seconds is a crash.
#include <sys/time.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "core/error.h"
#include "mend.h"
#include "targets.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

std::string target_name() {
  const char* name = std::getenv("FUZZ_TARGET");
  return name ? name : "";
}

mdsm::fuzz::Target target() {
  const auto found = mdsm::fuzz::targets().find(target_name());
  if (found != mdsm::fuzz::targets().end()) return found->second;
  for (const auto& [name, function] : mdsm::fuzz::targets()) std::fprintf(stderr, "%s\n", name.c_str());
  std::exit(2);
}

// Seconds of this process: those of the clock depend on what else the machine does.
double seconds_used() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Looks once a second how long the input of the moment has taken, and says in the end what the slowest took.
class Watch {
 public:
  Watch() {
    struct sigaction action = {};
    action.sa_handler = on_second;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    const itimerval every{{1, 0}, {1, 0}};
    setitimer(ITIMER_PROF, &every, nullptr);
  }
  ~Watch() { std::fprintf(stderr, "stat::slowest_input_ms: %.0f\n", 1e3 * slowest_); }
  void begin() { begin_ = seconds_used(); }
  void end() {
    slowest_ = std::max(slowest_, seconds_used() - begin_);
    begin_ = kNone;
  }

 private:
  static constexpr double kMax = 2, kNone = 1e300;
  static void on_second(int) {
    if (seconds_used() - begin_ > kMax) std::abort();
  }
  static inline volatile double begin_ = kNone;
  double slowest_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const mdsm::fuzz::Target run = target();
  static Watch watch;
  watch.begin();
  try {
    run(std::as_bytes(std::span(data, size)));
  } catch (const mdsm::Error&) {
  }
  watch.end();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 0) return size;  // wrong ones, too
  mdsm::fuzz::mend({data, size});
  return size;
}
