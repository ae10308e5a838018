#include "core/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace mdsm {
namespace {

// False where the former holder has removed the file since it was opened: a lock on it would be one on
// nothing.
bool still_there(int descriptor, const fs::path& file) {
  struct stat opened = {}, named = {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(file.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder, const char* doing) : file_(folder / "lock") {
  for (;;) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
      fail("check its permissions", "{}: cannot be opened: {}", file_.string(),
           std::generic_category().message(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(std::exchange(descriptor_, -1));
      if (error != EWOULDBLOCK)
        fail("use a folder of another file system", "{}: cannot be locked: {}", file_.string(),
             std::generic_category().message(error));
      fail("wait for it, or stop it with Ctrl-C or SIGTERM", "{}: another process is {} in this folder",
           folder.string(), doing);
    }
    if (still_there(descriptor_, file_)) break;
    ::close(std::exchange(descriptor_, -1));
  }
  remove_temporary_files(folder);
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FolderLock::~FolderLock() { release(); }

// Removed while it is held, so that nobody else's is.
void FolderLock::release() {
  if (descriptor_ < 0) return;
  ::unlink(file_.c_str());
  ::close(std::exchange(descriptor_, -1));
}

// A killed process leaves the file. What is locked stands in /proc/locks, as in
// "1: FLOCK  ADVISORY  WRITE 4711 fe:00:524301 0 EOF"; only the last of the three numbers is the same for all
// file systems.
bool is_locked(const fs::path& folder) {
  struct stat file = {};
  if (::stat((folder / "lock").c_str(), &file) != 0) return false;
  std::ifstream locks("/proc/locks");
  if (!locks) return true;  // somebody has, or had
  const std::string inode = ":" + std::to_string(file.st_ino) + " ";
  for (std::string line; std::getline(locks, line);)
    if (line.find(" FLOCK ") != std::string::npos && line.find(inode) != std::string::npos) return true;
  return false;
}

void remove_temporary_files(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const size_t at = name.rfind(".tmp");
    if (at == std::string::npos || at + 4 == name.size()) continue;
    if (std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 4, name.end(),
                    [](unsigned char c) { return std::isdigit(c); }))
      fs::remove(entry.path(), ignored);
  }
}

}  // namespace mdsm
