// Zip archives of stored (uncompressed) entries, as PyTorch writes them: reading from memory with every
// offset checked, and writing. Compressed and encrypted entries are refused.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"

namespace mdsm::io {

using Bytes = std::span<const std::byte>;

// Contents of every entry by name. The spans point into `file`; checksums are verified.
std::map<std::string, Bytes> read_zip(Bytes file, const std::string& where);

// Adds entries to a file under construction; finish() writes the directory. The file must be empty before.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  // The contents start on a multiple of 64 bytes, which lets PyTorch map them.
  void add(const std::string& name, Bytes content);
  void finish();

 private:
  void write(const std::string& bytes);

  AtomicFile& file_;
  uint64_t position_ = 0;
  uint16_t entries_ = 0;
  std::string directory_;
};

}  // namespace mdsm::io
