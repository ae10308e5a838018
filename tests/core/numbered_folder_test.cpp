#include "core/numbered_folder.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "temporary_folder.h"

namespace mdsm {
namespace {

TEST(NumberedFolder, IsTheOneThatBeginsWithTheNumber) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "00007-photos-unet-w32");
  fs::create_directories(folder.path() / "000071-other");
  EXPECT_EQ(numbered_folder(folder.path() / "00007"), folder.path() / "00007-photos-unet-w32");
  EXPECT_EQ(numbered_folder(folder.path() / "00008"), folder.path() / "00008");
  EXPECT_EQ(numbered_folder(folder.path() / "photos"), folder.path() / "photos");
  EXPECT_EQ(numbered_folder(""), "");
  fs::create_directories(folder.path() / "00007");
  EXPECT_EQ(numbered_folder(folder.path() / "00007"), folder.path() / "00007");
}

TEST(NumberedFolder, ThatCouldBeSeveralIsAnError) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "00007-a");
  fs::create_directories(folder.path() / "00007-b");
  try {
    numbered_folder(folder.path() / "00007");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("00007-a, 00007-b"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace mdsm
