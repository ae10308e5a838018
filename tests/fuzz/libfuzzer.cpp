// The target that the environment variable FUZZ_TARGET names, for libFuzzer (scripts/fuzz). Checksums that
// would stop nearly every changed input are put right after a change, so that what lies behind them is
// reached. An input that takes more than two seconds is a crash.
#include <sys/time.h>
#include <zlib.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "core/error.h"
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

uint32_t checksum(const uint8_t* data, size_t size) {
  return static_cast<uint32_t>(crc32(0, data, static_cast<unsigned>(size)));
}

// Chunks of a PNG file: the checksum covers type and body.
void mend_png(uint8_t* data, size_t size) {
  if (size < 8 || std::memcmp(data, "\x89PNG", 4) != 0) return;
  for (size_t at = 8; size - at >= 12;) {
    const size_t length =
        size_t{data[at]} << 24 | size_t{data[at + 1]} << 16 | size_t{data[at + 2]} << 8 | data[at + 3];
    if (length > size - at - 12) return;
    const uint32_t sum = checksum(data + at + 4, length + 4);
    for (size_t i = 0; i < 4; ++i) data[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    at += 12 + length;
  }
}

// Entries of a zip file that are stored as they are: the directory's checksum is that of the bytes it points
// to.
void mend_zip(uint8_t* data, size_t size) {
  for (size_t at = 0; at + 46 <= size; ++at) {
    uint32_t stored = 0, local = 0;
    uint16_t name = 0, extra = 0;
    if (std::memcmp(data + at, "PK\1\2", 4) != 0) continue;
    std::memcpy(&stored, data + at + 20, 4);
    std::memcpy(&local, data + at + 42, 4);
    if (size_t{local} + 30 > size) continue;
    std::memcpy(&name, data + local + 26, 2);
    std::memcpy(&extra, data + local + 28, 2);
    const size_t begin = size_t{local} + 30 + name + extra;
    if (begin > size || stored > size - begin) continue;
    const uint32_t sum = checksum(data + begin, stored);
    std::memcpy(data + at + 16, &sum, 4);
  }
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
  mend_png(data, size);
  mend_zip(data, size);
  return size;
}
