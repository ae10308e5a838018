#include "io/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>

#include "core/error.h"
#include "core/memory.h"
#include "core/open_file.h"

namespace mdsm::io {
namespace {

// zip where the file begins like one.
ArchiveFormat archive_format(const fs::path& path) {
  std::ifstream in = open_file(path);
  char start[2] = {};
  in.read(start, sizeof start);
  return start[0] == 'P' && start[1] == 'K' ? ArchiveFormat::zip : ArchiveFormat::tar;
}

}  // namespace

void ArchiveMembers::Close::operator()(archive* a) const { archive_read_free(a); }

ArchiveMembers::ArchiveMembers(const fs::path& path)
    : ArchiveMembers(path, archive_format(path), "use another copy of the file") {}

ArchiveMembers::ArchiveMembers(const fs::path& path, ArchiveFormat format, std::string hint)
    : in_(archive_read_new()), name_(path.string()), hint_(std::move(hint)) {
  if (format == ArchiveFormat::zip) {
    archive_read_support_format_zip(in_.get());
  } else {
    // Not filter_all: that also starts other programs.
    archive_read_support_filter_gzip(in_.get());
    archive_read_support_filter_bzip2(in_.get());
    archive_read_support_filter_xz(in_.get());
    archive_read_support_filter_zstd(in_.get());
    archive_read_support_format_tar(in_.get());
  }
  if (archive_read_open_filename(in_.get(), path.c_str(), 1 << 17) != ARCHIVE_OK) fail_damaged();
  // Every layer multiplies what a few bytes become. One is the file itself.
  if (archive_filter_count(in_.get()) > 2)
    fail("unpack it once", "{}: an archive that is compressed more than once", name_);
  std::error_code error;
  archive_bytes_ = fs::file_size(path, error);
  if (error) fail_damaged();
}

bool ArchiveMembers::next() {
  for (archive_entry* entry = nullptr;;) {
    const int code = archive_read_next_header(in_.get(), &entry);
    if (code == ARCHIVE_EOF) return false;
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) fail_damaged();
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    const char* found = archive_entry_pathname(entry);
    path_ = found ? found : "";
    size_ = static_cast<uint64_t>(std::max<int64_t>(archive_entry_size(entry), 0));
    return true;
  }
}

size_t ArchiveMembers::read(std::span<std::byte> to) {
  size_t done = 0;
  while (done < to.size()) {
    const la_ssize_t got = archive_read_data(in_.get(), to.data() + done, to.size() - done);
    if (got < 0) fail_damaged();
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

std::vector<std::byte> ArchiveMembers::rest(size_t most, std::vector<std::byte> start) {
  constexpr size_t kPiece = 1 << 16;
  std::vector<std::byte> bytes = std::move(start);
  const auto check_room = [&](uint64_t size) {
    if (size > most)
      fail("check that it is the right file", "{}: an entry of more than {}", name_,
           bytes_text(static_cast<double>(most)));
  };
  check_room(size_);
  bytes.reserve(size_ + kPiece);
  for (;;) {
    const size_t before = bytes.size();
    bytes.resize(before + kPiece);
    const size_t got = read(std::span(bytes).subspan(before));
    bytes.resize(before + got);
    check_room(bytes.size());
    if (got < kPiece) return bytes;
  }
}

void ArchiveMembers::skip() {
  std::vector<std::byte> piece(1 << 16);
  while (read(piece) > 0) {
  }
}

void ArchiveMembers::fail_damaged() const { fail(hint_, "{}: damaged archive, or none at all", name_); }

MemberStream::MemberStream(ArchiveMembers& members)
    : std::istream(static_cast<std::streambuf*>(this)), members_(members), piece_(1 << 16) {
  exceptions(std::ios::badbit);
}

std::streambuf::int_type MemberStream::underflow() {
  using Traits = std::char_traits<char>;
  char* begin = reinterpret_cast<char*>(piece_.data());
  const size_t got = members_.read(piece_);
  setg(begin, begin, begin + got);
  return got == 0 ? Traits::eof() : Traits::to_int_type(*begin);
}

}  // namespace mdsm::io
