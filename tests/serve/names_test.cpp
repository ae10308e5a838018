#include "serve/names.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace mdsm::serve {
namespace {

TEST(Names, ArePlain) {
  for (const char* good : {"a", "00000-photos_w32.png", "A.b-c"}) EXPECT_TRUE(is_plain_name(good)) << good;
  for (const std::string& bad :
       std::vector<std::string>{"", ".", "..", ".a", "-a", "a/b", "a\\b", "a b", "a%2e", "\xc0\xae",
                                std::string("a\0b", 3), std::string(121, 'a')})
    EXPECT_FALSE(is_plain_name(bad)) << bad;
  EXPECT_EQ(plain_parts("a/b.c").size(), 2u);
  for (const char* bad : {"", "/", "a//b", "a/", "/a", "a/../b", "1/2/3/4/5/6/7/8/9"})
    EXPECT_TRUE(plain_parts(bad).empty()) << bad;
}

TEST(Names, LeadNowhereElse) {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "root", outside = folder.path() / "root-outside";
  fs::create_directories(root / "a");
  fs::create_directories(outside);
  write_file(root / "a" / "b", "x");
  write_file(outside / "secret", "x");
  fs::create_directory_symlink(outside, root / "link");
  fs::create_symlink(outside / "secret", root / "file");
  fs::create_directory_symlink(root / "a", root / "own");
  EXPECT_TRUE(inside(root, "a/b"));
  EXPECT_TRUE(inside(root, "own/b")) << "a link that stays inside";
  for (const char* bad : {"link/secret", "file", "link", "nothing", "../root-outside/secret"})
    EXPECT_FALSE(inside(root, bad)) << bad;
}

}  // namespace
}  // namespace mdsm::serve
