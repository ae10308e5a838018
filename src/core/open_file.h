// Opens a file to be read, or says why it cannot be.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace mdsm {

[[noreturn]] inline void fail_opening(const std::filesystem::path& path, int error) {
  fail(error == ENOMEM ? "free some memory" : "check its permissions", "{}: cannot be opened: {}",
       path.string(), std::strerror(error));
}

inline std::ifstream open_file(const std::filesystem::path& path, std::ios::openmode more = {}) {
  std::ifstream in(path, std::ios::binary | more);
  if (!in) fail_opening(path, errno);
  return in;
}

}  // namespace mdsm
