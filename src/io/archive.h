// The files in a tar or zip archive, compressed or not, one after the other and piece by piece: each can be
// judged by its size and its beginning before it lies in memory. Zip files of stored entries that are mapped
// rather than copied are io/zip.h's.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <span>
#include <streambuf>
#include <string>
#include <vector>

#include "core/files.h"

struct archive;

namespace mdsm::io {

enum class ArchiveFormat { tar, zip };  // tar: plain, or compressed once with gzip, bzip2, xz or zstd

// Errors name the file and give the hint.
class ArchiveMembers {
 public:
  explicit ArchiveMembers(const fs::path& path);  // zip where the file begins like one, else tar
  ArchiveMembers(const fs::path& path, ArchiveFormat format, std::string hint);

  bool next();  // to the next file; false at the end
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // as the archive says
  uint64_t archive_bytes() const { return archive_bytes_; }

  // Fewer only at the member's end.
  size_t read(std::span<std::byte> to);
  // `start`, which has been read, and all that is left. More than `most` is an error, before it is read where
  // the archive says so.
  std::vector<std::byte> rest(size_t most, std::vector<std::byte> start = {});
  // Reads what is left without keeping it.
  void skip();
  [[noreturn]] void fail_damaged() const;

 private:
  struct Close {
    void operator()(archive* a) const;
  };
  std::unique_ptr<archive, Close> in_;
  std::string name_, hint_, path_;
  uint64_t size_ = 0, archive_bytes_ = 0;
};

// A member as a stream. What is wrong with the archive is thrown out of its functions.
class MemberStream : private std::streambuf, public std::istream {
 public:
  explicit MemberStream(ArchiveMembers& members);

 private:
  std::streambuf::int_type underflow() override;

  ArchiveMembers& members_;
  std::vector<std::byte> piece_;
};

}  // namespace mdsm::io
