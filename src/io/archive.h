// Entries of a tar or zip archive, compressed or not, each taken whole into memory. Zip files of stored
// entries that are mapped rather than copied are io/zip.h's.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/files.h"

namespace mdsm::io {

enum class ArchiveFormat { tar, zip };  // tar: plain, or compressed once with gzip, bzip2, xz or zstd

struct ArchiveEntries {
  ArchiveFormat format = ArchiveFormat::tar;
  size_t largest = size_t{1} << 32;                   // bytes of one entry; more is an error
  std::string hint = "use another copy of the file";  // what to do about a damaged archive
  // From an entry's path in the archive to its name in the result; "" leaves it out.
  std::function<std::string(const std::string&)> name;
};

// zip where the file begins like one.
ArchiveFormat archive_format(const fs::path& path);
// Paths of the first so many files in it, to tell kinds of archives apart; none where it is no archive.
std::vector<std::string> first_entries(const fs::path& path, size_t count);

// Calls with every wanted file's name and content, in the order of the archive. Errors name the file.
void for_each_entry(const fs::path& path, const ArchiveEntries& wanted,
                    const std::function<void(const std::string&, std::vector<std::byte>)>& take);
// The contents of the wanted entries by name; where a name comes twice, the last. Errors name the file.
std::map<std::string, std::vector<std::byte>> read_archive(const fs::path& path,
                                                           const ArchiveEntries& wanted);

}  // namespace mdsm::io
