#include "core/append_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "temporary_folder.h"

namespace mdsm {
namespace {

TEST(AppendFile, GoesOnWhereItEnded) {
  const TemporaryFolder folder;
  AppendFile(folder / "a").append("one\n");
  AppendFile again(folder / "a");
  again.append("two\n");
  again.flush();
  EXPECT_EQ(read_text(folder / "a"), "one\ntwo\n");
  EXPECT_EQ(again.path(), folder / "a");
}

TEST(AppendFile, FolderThatIsNotThereIsAnError) {
  const TemporaryFolder folder;
  EXPECT_ERROR(AppendFile(folder / "none/a"), "cannot be written");
}

// A limit on the size of files stands for a full disk: the record is written in part.
TEST(AppendFile, HalfARecordIsTakenBack) {
  const TemporaryFolder folder;
  AppendFile file(folder / "a");
  file.append("one\n");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_ERROR(file.append("a second line that is too long\n"), "writing failed");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  EXPECT_EQ(read_text(folder / "a"), "one\n");
}

}  // namespace
}  // namespace mdsm
