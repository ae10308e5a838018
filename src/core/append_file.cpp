#include "core/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"

namespace mdsm {

AppendFile::AppendFile(fs::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    fail("check that its folder can be written", "{}: cannot be written: {}", path_.string(),
         std::generic_category().message(errno));
}

AppendFile::~AppendFile() { ::close(descriptor_); }

void AppendFile::append(std::string_view record) {
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  const ssize_t written = ::write(descriptor_, record.data(), record.size());
  if (written == static_cast<ssize_t>(record.size())) return;
  const int error = written < 0 ? errno : ENOSPC;
  if (::ftruncate(descriptor_, before) != 0) errno = 0;  // readers drop half a record at the end anyway
  fail(error == EFBIG ? "raise the limit on the size of files (ulimit -f) and resume the run"
                      : "free some space and resume the run",
       "{}: writing failed: {}", path_.string(), std::generic_category().message(error));
}

void AppendFile::flush() {
  int code = 0;
  do code = ::fdatasync(descriptor_);
  while (code != 0 && errno == EINTR);
  if (code == 0 || errno == EINVAL || errno == ENOTSUP) return;  // a device has no disk
  fail("check the disk, then resume the run", "{}: could not be flushed to the disk: {}", path_.string(),
       std::generic_category().message(errno));
}

}  // namespace mdsm
