#include "io/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace mdsm::io {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

void write_archive(const fs::path& path, ArchiveFormat format, const Files& files) {
  archive* out = archive_write_new();
  if (format == ArchiveFormat::zip) {
    archive_write_set_format_zip(out);
  } else {
    archive_write_set_format_ustar(out);
    archive_write_add_filter_gzip(out);
  }
  ASSERT_EQ(archive_write_open_filename(out, path.c_str()), ARCHIVE_OK);
  for (const auto& [name, content] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_write_header(out, entry);
    archive_write_data(out, content.data(), content.size());
    archive_entry_free(entry);
  }
  archive_write_free(out);
}

std::string text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Entries "in/...", without that folder.
ArchiveEntries inner(ArchiveFormat format) {
  ArchiveEntries wanted;
  wanted.format = format;
  wanted.name = [](const std::string& path) { return path.starts_with("in/") ? path.substr(3) : ""; };
  return wanted;
}

TEST(Archive, GivesTheWantedEntriesOfBothFormats) {
  const TemporaryFolder folder;
  const std::string large(3'000'000, 'x');  // more than one piece
  for (const ArchiveFormat format : {ArchiveFormat::tar, ArchiveFormat::zip}) {
    write_archive(folder / "a", format,
                  {{"in/a", "one"}, {"out/b", "two"}, {"in/c", large}, {"in/a", "last"}});
    const auto found = read_archive(folder / "a", inner(format));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(text(found.at("a")), "last");
    EXPECT_EQ(text(found.at("c")), large);
  }
}

TEST(Archive, TooLargeAnEntryIsRefused) {
  const TemporaryFolder folder;
  write_archive(folder / "a", ArchiveFormat::tar, {{"in/a", std::string(2000, 'x')}});
  ArchiveEntries wanted = inner(ArchiveFormat::tar);
  wanted.largest = 2000;
  EXPECT_NO_THROW(read_archive(folder / "a", wanted));
  wanted.largest = 1999;
  EXPECT_ERROR(read_archive(folder / "a", wanted), "an entry of more than 2.00 kB");
}

TEST(Archive, DamageNamesTheFileAndTheHint) {
  const TemporaryFolder folder;
  put(folder / "a", "not an archive at all");
  for (const ArchiveFormat format : {ArchiveFormat::tar, ArchiveFormat::zip}) {
    ArchiveEntries wanted = inner(format);
    wanted.hint = "try the other one";
    EXPECT_ERROR(read_archive(folder / "a", wanted), "damaged archive");
    EXPECT_ERROR(read_archive(folder / "a", wanted), "try the other one");
    EXPECT_ERROR(read_archive(folder / "none", wanted), "none");
  }
}

}  // namespace
}  // namespace mdsm::io
