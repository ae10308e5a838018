#include "network/bundled.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "temporary_folder.h"

namespace mdsm::network {
namespace {

TEST(Bundled, LooksWhereItIsTold) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a.safetensors", std::string_view("x"));
  for (const char* other : {"b.txt", "guide-a.safetensors", "classifier-a.safetensors"})
    write_file(folder.path() / other, std::string_view("x"));
  ::setenv("MDSM_MODELS", folder.path().c_str(), 1);
  EXPECT_EQ(find_bundled("a"), folder.path() / "a.safetensors");
  EXPECT_EQ(find_bundled("b"), std::nullopt);
  EXPECT_EQ(find_bundled("../a"), std::nullopt);
  EXPECT_EQ(list_bundled(), (std::vector<std::string>{"a", "classifier-a", "guide-a"}));
  EXPECT_EQ(list_bundled_models(), std::vector<std::string>{"a"});
  ::unsetenv("MDSM_MODELS");
  ASSERT_FALSE(bundled_folders().empty());
  EXPECT_TRUE(find_bundled("mnist"));  // of the tree that the test was built in
}

}  // namespace
}  // namespace mdsm::network
