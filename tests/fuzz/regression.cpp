// Runs every file of CORPUS/TARGET through its target: the seeds of the fuzzers, and every input that was
// once a problem.
//
//   fuzz_regression CORPUS [TARGET]
//
// Anything but a return or an mdsm::Error is a failure, and so is a target without a corpus or a corpus
// without a target.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <exception>

#include "core/error.h"
#include "core/files.h"
#include "targets.h"

namespace {

namespace fs = std::filesystem;

constexpr double kMaxSeconds = 20;  // a machine may be slow; without a limit these take minutes
constexpr long kMaxMemory = 512;    // MB, of all of them

bool passes(const std::string& name, mdsm::fuzz::Target target, const fs::path& file) {
  const std::vector<std::byte> bytes = mdsm::read_bytes(file);
  const auto start = std::chrono::steady_clock::now();
  try {
    target(bytes);
  } catch (const mdsm::Error&) {
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s: %s\n", name.c_str(), file.c_str(), error.what());
    return false;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (seconds > kMaxSeconds) std::fprintf(stderr, "%s: %s: %.0f s\n", name.c_str(), file.c_str(), seconds);
  return seconds <= kMaxSeconds;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const fs::path corpus = argv[1];
  int failed = 0, files = 0;
  for (const auto& [name, target] : mdsm::fuzz::targets()) {
    if (argc > 2 && name != argv[2]) continue;
    if (!fs::is_directory(corpus / name)) {
      std::fprintf(stderr, "%s: has no corpus\n", name.c_str());
      ++failed;
      continue;
    }
    for (const auto& entry : fs::directory_iterator(corpus / name)) {
      ++files;
      failed += !passes(name, target, entry.path());
    }
  }
  for (const auto& entry : fs::directory_iterator(corpus))
    if (!mdsm::fuzz::targets().contains(entry.path().filename().string())) {
      std::fprintf(stderr, "%s: no such target\n", entry.path().c_str());
      ++failed;
    }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const long memory = usage.ru_maxrss / 1024;
  std::printf("%d files, %d failed, %ld MB at most\n", files, failed, memory);
#ifndef MDSM_SANITIZED
  if (memory > kMaxMemory) return 1;
#endif
  return failed == 0 ? 0 : 1;
}
