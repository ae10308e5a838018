// Runs every file of CORPUS/TARGET through its target: the seeds of the fuzzers, and every input that was
// once a problem.
//
//   fuzz_regression CORPUS [TARGET]
//
// Files that end in ".zz" are packed by zlib; those that begin with "good" must be read without an error.
// With a TARGET, what each was refused for is printed.
//
// Anything but a return or an mdsm::Error is a failure, and so is a target without a corpus, a corpus without
// a target, or a good file that mend() changes.
#include <sys/resource.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

#include "core/error.h"
#include "core/files.h"
#include "mend.h"
#include "targets.h"

namespace {

namespace fs = std::filesystem;

constexpr double kMaxSeconds = 20;  // a machine may be slow; without a limit these take minutes
constexpr long kMaxMemory = 512;    // MB, of all of them
constexpr size_t kMaxUnpacked = 4 << 20;

// What was once a problem may have wrong checksums; the files to start from have none.
bool is_mended(const fs::path& file, const std::vector<std::byte>& bytes) {
  const std::string name = file.filename().string();
  if (name.starts_with("crash") || name.starts_with("slow")) return true;
  std::vector<std::byte> mended = bytes;
  mdsm::fuzz::mend({reinterpret_cast<uint8_t*>(mended.data()), mended.size()});
  if (mended != bytes) std::fprintf(stderr, "%s: has a wrong checksum\n", file.c_str());
  return mended == bytes;
}

std::vector<std::byte> content(const fs::path& file) {
  std::vector<std::byte> bytes = mdsm::read_bytes(file);
  if (file.extension() != ".zz") return bytes;
  std::vector<std::byte> unpacked(kMaxUnpacked);
  uLongf size = kMaxUnpacked;
  if (uncompress(reinterpret_cast<Bytef*>(unpacked.data()), &size,
                 reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != Z_OK)
    mdsm::fail("make it with make_corpus.py", "{}: cannot be unpacked", file.string());
  unpacked.resize(size);
  return unpacked;
}

bool passes(const std::string& name, mdsm::fuzz::Target target, const fs::path& file, bool told) {
  const std::vector<std::byte> bytes = content(file);
  const bool good = file.filename().string().starts_with("good");
  const auto start = std::chrono::steady_clock::now();
  try {
    target(bytes);
  } catch (const mdsm::Error& error) {
    if (good || told) std::fprintf(stderr, "%s: %s: %s\n", name.c_str(), file.c_str(), error.what());
    if (good) return false;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s: %s\n", name.c_str(), file.c_str(), error.what());
    return false;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (seconds > kMaxSeconds) std::fprintf(stderr, "%s: %s: %.0f s\n", name.c_str(), file.c_str(), seconds);
  return seconds <= kMaxSeconds && is_mended(file, bytes);
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
      failed += !passes(name, target, entry.path(), argc > 2);
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
