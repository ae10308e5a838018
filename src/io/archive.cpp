#include "io/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "core/error.h"
#include "core/memory.h"
#include "core/open_file.h"

namespace mdsm::io {
namespace {

struct CloseArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

class Reader {
 public:
  Reader(const fs::path& path, const ArchiveEntries& wanted)
      : in_(archive_read_new()), name_(path.string()), wanted_(wanted) {
    if (wanted.format == ArchiveFormat::zip) {
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
  }

  // The path of the next entry in the archive; false at its end.
  bool next(std::string& path) {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(in_.get(), &entry);
    if (code == ARCHIVE_EOF) return false;
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) fail_damaged();
    const char* found = archive_entry_pathname(entry);
    path = found ? found : "";
    is_file_ = archive_entry_filetype(entry) == AE_IFREG;
    size_ = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
    return true;
  }

  bool is_file() const { return is_file_; }

  std::vector<std::byte> content() {
    constexpr size_t kPiece = 1 << 16;
    std::vector<std::byte> bytes;
    if (size_ > static_cast<int64_t>(wanted_.largest)) fail_too_large();
    for (;;) {
      const size_t before = bytes.size();
      bytes.resize(before + kPiece);
      const la_ssize_t got = archive_read_data(in_.get(), bytes.data() + before, kPiece);
      if (got < 0) fail_damaged();
      bytes.resize(before + static_cast<size_t>(got));
      if (got == 0) return bytes;
      if (bytes.size() > wanted_.largest) fail_too_large();
    }
  }

 private:
  [[noreturn]] void fail_too_large() const {
    fail("check that it is the right file", "{}: an entry of more than {}", name_,
         bytes_text(wanted_.largest));
  }
  [[noreturn]] void fail_damaged() const { fail(wanted_.hint, "{}: damaged archive, or none at all", name_); }

  std::unique_ptr<archive, CloseArchive> in_;
  std::string name_;
  const ArchiveEntries& wanted_;
  bool is_file_ = false;
  int64_t size_ = 0;  // that the entry is said to have
};

}  // namespace

ArchiveFormat archive_format(const fs::path& path) {
  std::ifstream in = open_file(path);
  char start[2] = {};
  in.read(start, sizeof start);
  return start[0] == 'P' && start[1] == 'K' ? ArchiveFormat::zip : ArchiveFormat::tar;
}

std::vector<std::string> first_entries(const fs::path& path, size_t count) {
  std::vector<std::string> names;
  try {
    ArchiveEntries wanted;
    wanted.format = archive_format(path);
    Reader reader(path, wanted);
    for (std::string entry; names.size() < count && reader.next(entry);)
      if (reader.is_file()) names.push_back(entry);
  } catch (const Error&) {
    names.clear();  // whoever reads it says what is wrong
  }
  return names;
}

void for_each_entry(const fs::path& path, const ArchiveEntries& wanted,
                    const std::function<void(const std::string&, std::vector<std::byte>)>& take) {
  Reader reader(path, wanted);
  for (std::string entry; reader.next(entry);)
    if (const std::string name = reader.is_file() ? wanted.name(entry) : ""; !name.empty())
      take(name, reader.content());
}

std::map<std::string, std::vector<std::byte>> read_archive(const fs::path& path,
                                                           const ArchiveEntries& wanted) {
  std::map<std::string, std::vector<std::byte>> entries;
  for_each_entry(path, wanted, [&](const std::string& name, std::vector<std::byte> content) {
    entries[name] = std::move(content);
  });
  return entries;
}

}  // namespace mdsm::io
