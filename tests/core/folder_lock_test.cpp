#include "core/folder_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/error.h"
#include "temporary_folder.h"

namespace mdsm {
namespace {

TEST(FolderLock, IsHeldByOne) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path(), "working");
    EXPECT_TRUE(lock);
    EXPECT_ERROR(FolderLock(folder.path(), "working"), "another process is working in this folder");
  }
  EXPECT_FALSE(fs::exists(folder / "lock"));
  EXPECT_NO_THROW(FolderLock(folder.path(), "working"));
  EXPECT_ERROR(FolderLock(folder / "missing", "working"), "cannot be opened");
}

TEST(FolderLock, IsSeenWithoutTouchingIt) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_locked(folder.path()));
  {
    const FolderLock lock(folder.path(), "working");
    EXPECT_TRUE(is_locked(folder.path()));
  }
  EXPECT_FALSE(is_locked(folder.path()));
  write_file(folder / "lock", std::string_view());  // as a killed process leaves it
  EXPECT_FALSE(is_locked(folder.path()));
}

TEST(FolderLock, ClearsWhatAKilledProcessLeft) {
  const TemporaryFolder folder;
  for (const char* name : {"a.npy.tmp123", "a.npy", "b.tmp", "c.tmp1x"})
    write_file(folder / name, std::string_view("x"));
  const FolderLock lock(folder.path(), "working");
  EXPECT_FALSE(fs::exists(folder / "a.npy.tmp123"));
  for (const char* name : {"a.npy", "b.tmp", "c.tmp1x"}) EXPECT_TRUE(fs::exists(folder / name));
}

// Its file goes away with it; somebody who has opened that file must not believe to have the lock.
TEST(FolderLock, NeverTwoAtOnce) {
  const TemporaryFolder folder;
  std::atomic<int> inside = 0, taken = 0;
  std::atomic<bool> twice = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) try {
          const FolderLock lock(folder.path(), "working");
          twice = twice || ++inside != 1;
          ++taken;
          --inside;
        } catch (const Error&) {
        }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(twice);
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace mdsm
