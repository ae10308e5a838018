// Reading whole files, and writing them so that a reader never sees half of one: every write goes to a
// temporary name beside the target, is flushed to the disk and renamed. A failed or killed write leaves the
// old file untouched.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mdsm {

namespace fs = std::filesystem;

std::vector<std::byte> read_bytes(const fs::path& path);
std::string read_text(const fs::path& path);

// A file under construction. commit() makes it appear under its name; without it the destructor removes it.
class AtomicFile {
 public:
  explicit AtomicFile(fs::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  [[noreturn]] void fail_writing(int error) const;

  fs::path target_, temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
};

void write_file(const fs::path& path, std::string_view text);
void write_file(const fs::path& path, std::span<const std::byte> bytes);

// Creates the folder (and its parents) or says why it cannot.
void make_folder(const fs::path& path);

}  // namespace mdsm
