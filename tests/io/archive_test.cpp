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

TEST(Archive, GivesTheFilesOfBothFormats) {
  const TemporaryFolder folder;
  const std::string large(3'000'000, 'x');  // more than one piece
  for (const ArchiveFormat format : {ArchiveFormat::tar, ArchiveFormat::zip}) {
    write_archive(folder / "a", format, {{"in/a", "one"}, {"b", "two"}, {"in/c", large}});
    ArchiveMembers members(folder / "a");
    EXPECT_EQ(members.archive_bytes(), fs::file_size(folder / "a"));
    ASSERT_TRUE(members.next());
    EXPECT_EQ(members.path(), "in/a");
    EXPECT_EQ(members.size(), 3u);
    ASSERT_TRUE(members.next());  // what was not read is passed over
    EXPECT_EQ(text(members.rest(3)), "two");
    ASSERT_TRUE(members.next());
    std::vector<std::byte> start(5);
    EXPECT_EQ(members.read(start), 5u);
    EXPECT_EQ(text(members.rest(large.size(), start)), large);
    EXPECT_FALSE(members.next());
  }
}

TEST(Archive, AFileCanBeReadAsAStream) {
  const TemporaryFolder folder;
  const std::string large(300'000, 'x');
  write_archive(folder / "a", ArchiveFormat::tar, {{"a", large + "\nend"}});
  ArchiveMembers members(folder / "a");
  ASSERT_TRUE(members.next());
  MemberStream in(members);
  std::string line, end;
  std::getline(in, line);
  EXPECT_EQ(line, large);
  std::getline(in, end);
  EXPECT_EQ(end, "end");
  EXPECT_TRUE(in.eof());
}

TEST(Archive, TooLargeAFileIsRefused) {
  const TemporaryFolder folder;
  write_archive(folder / "a", ArchiveFormat::tar,
                {{"a", std::string(2000, 'x')}, {"b", std::string(2000, 'x')}});
  ArchiveMembers members(folder / "a");
  members.next();
  EXPECT_NO_THROW(members.rest(2000));
  members.next();
  EXPECT_ERROR(members.rest(1999), "an entry of more than 2.00 kB");
}

TEST(Archive, DamageNamesTheFileAndTheHint) {
  const TemporaryFolder folder;
  put(folder / "a", "not an archive at all");
  for (const ArchiveFormat format : {ArchiveFormat::tar, ArchiveFormat::zip}) {
    const auto read = [&](const char* file) {
      ArchiveMembers(folder / file, format, "try the other one").next();
    };
    EXPECT_ERROR(read("a"), "damaged archive");
    EXPECT_ERROR(read("a"), "try the other one");
    EXPECT_ERROR(read("none"), "none");
  }
}

}  // namespace
}  // namespace mdsm::io
