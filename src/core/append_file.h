// A file that grows by whole records: one that cannot be written whole (full disk) is taken back and
// reported.
#pragma once

#include <string_view>

#include "core/files.h"

namespace mdsm {

class AppendFile {
 public:
  explicit AppendFile(fs::path path);  // made where there is none
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view record);
  void flush();  // to the disk
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  int descriptor_ = -1;
};

}  // namespace mdsm
