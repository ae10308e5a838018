#include "core/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.h"
#include "core/open_file.h"

namespace mdsm {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// Names in it are on the disk afterwards. A folder that may not be read, and file systems that flush no
// folders, are left to themselves.
void flush_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  int error = 0;
  do error = ::fsync(descriptor) == 0 ? 0 : errno;
  while (error == EINTR);
  ::close(descriptor);
  if (error != 0 && error != EINVAL && error != ENOTSUP && error != EBADF)
    fail("check the disk", "{}: could not be flushed to the disk: {}", folder.empty() ? "." : folder.string(),
         reason(error));
}

template <class Container>
Container read_whole(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) fail("check the path", "{}: no such file", path.string());
  if (fs::is_directory(path, error)) fail("name a file", "{}: is a folder", path.string());
  if (!fs::is_regular_file(path, error))  // a pipe or device has no size and may never end
    fail("copy it to a file first", "{}: is not a regular file", path.string());
  std::ifstream in = open_file(path, std::ios::ate);
  Container content(static_cast<size_t>(in.tellg()), typename Container::value_type{});
  in.seekg(0);
  in.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!in) fail("check the disk", "{}: reading failed after {} bytes", path.string(), in.gcount());
  return content;
}

}  // namespace

std::vector<std::byte> read_bytes(const fs::path& path) { return read_whole<std::vector<std::byte>>(path); }
std::string read_text(const fs::path& path) { return read_whole<std::string>(path); }

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)) {
  std::error_code error;
  if (fs::is_directory(target_, error))
    fail("name a file", "{}: is a folder, cannot be written as a file", target_.string());
  // Renaming over a device such as /dev/null would replace it for everybody.
  if (fs::exists(target_, error) && !fs::is_regular_file(target_, error))
    fail("name a file", "{}: is not a regular file and will not be replaced", target_.string());
  temporary_ = target_;
  temporary_ += fmt::format(".tmp{}", ::getpid());
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    fail("check that its folder exists and can be written", "{}: cannot be written: {}", target_.string(),
         reason(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail_writing(int error) const {
  const char* hint = error == ENOSPC ? "free some space; the previous file is untouched"
                     : error == EFBIG
                         ? "raise the limit on the size of files (ulimit -f); the previous file is untouched"
                         : "the previous file is untouched";
  fail(hint, "{}: writing failed: {}", target_.string(), reason(error));
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::write(descriptor_, at, bytes);
    if (done < 0) {
      if (errno == EINTR) continue;
      fail_writing(errno);
    }
    at += done;
    bytes -= static_cast<size_t>(done);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail_writing(errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail_writing(errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_writing(errno);
  committed_ = true;
  flush_folder(target_.parent_path());
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void write_file(const fs::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text)));
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path))
    fail("choose a folder that can be written", "{}: cannot create the folder: {}", path.string(),
         error ? error.message() : "a file of that name exists");
  flush_folder(path.parent_path());
}

}  // namespace mdsm
