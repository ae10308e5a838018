// A folder that one process at a time works in: FOLDER/lock, which the kernel lets go of when the process
// ends, however it ends. Taking it also clears the temporary files that a killed process left there.
#pragma once

#include "core/files.h"

namespace mdsm {

class FolderLock {
 public:
  FolderLock() = default;  // of nothing
  // The folder must exist. doing: what another process is told to be at, as in "training".
  FolderLock(const fs::path& folder, const char* doing);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();  // removes the file

  void release();
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  fs::path file_;
  int descriptor_ = -1;
};

// Whether a process works in the folder now. Does not touch the lock: somebody may be about to take it.
bool is_locked(const fs::path& folder);

// Temporary files that a killed process left in the folder (name.tmpPID).
void remove_temporary_files(const fs::path& folder);

}  // namespace mdsm
