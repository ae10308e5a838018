#include "train/run_folder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/error.h"
#include "temporary_folder.h"

namespace mdsm::train {
namespace {

using nlohmann::json;

RunFolder make(const fs::path& outdir) {
  return RunFolder::create(outdir, "d-res6-w4", {{"width", 4}}, "v1\n");
}

TEST(RunFolder, IsNumberedAfterTheLargestNumber) {
  const TemporaryFolder out;
  EXPECT_EQ(make(out.path()).path().filename(), "00000-d-res6-w4");
  fs::create_directory(out / "00041-other");
  fs::create_directory(out / "notes");
  const RunFolder run = make(out.path());
  EXPECT_EQ(run.path().filename(), "00042-d-res6-w4");
  EXPECT_EQ(RunFolder::recorded_options(run.path()), json({{"width", 4}}));
  EXPECT_EQ(read_text(run.path() / "version.txt"), "v1\n");
}

TEST(RunFolder, ManyAtOnceGetFoldersOfTheirOwn) {
  const TemporaryFolder out;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) make(out.path());
    });
  for (auto& thread : threads) thread.join();
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(out.path())) {
    names.insert(entry.path().filename().string());
    EXPECT_TRUE(fs::exists(entry.path() / "options.json"));
  }
  EXPECT_EQ(names.size(), 40u);
}

TEST(RunFolder, IsLockedWhileInUse) {
  const TemporaryFolder out;
  fs::path path;
  {
    const RunFolder run = make(out.path());
    path = run.path();
    EXPECT_THROW(RunFolder::open(path), Error);
  }
  EXPECT_NO_THROW(RunFolder::open(path));
}

TEST(RunFolder, OpeningClearsWhatAKilledProcessLeft) {
  const TemporaryFolder out;
  const fs::path path = make(out.path()).path();
  for (const char* name : {"state.safetensors.tmp123", "state.safetensors", "a.tmp", "b.tmp1x"})
    write_file(path / name, std::string_view("x"));
  RunFolder::open(path);
  EXPECT_FALSE(fs::exists(path / "state.safetensors.tmp123"));
  for (const char* name : {"state.safetensors", "a.tmp", "b.tmp1x"}) EXPECT_TRUE(fs::exists(path / name));
}

TEST(RunFolder, TheLatestHasTheHighestNumber) {
  const TemporaryFolder folder;
  EXPECT_ERROR(RunFolder::latest(folder / "none"), "--resume latest: no run in");
  EXPECT_ERROR(RunFolder::latest(folder.path()), "no run in");
  for (const char* name : {"00009-b", "00010-a", "notes-99999"}) put(folder / name / "options.json", "{}");
  put(folder / "00011-empty/log.txt", "");  // no run, it has no options
  EXPECT_EQ(RunFolder::latest(folder.path()).filename(), "00010-a");
}

TEST(RunFolder, SaysWhenItIsNone) {
  const TemporaryFolder out;
  EXPECT_THROW(RunFolder::open(out / "missing"), Error);
  EXPECT_THROW(RunFolder::open(out.path()), Error);
  write_file(out / "options.json", std::string_view("{"));
  EXPECT_THROW(RunFolder::open(out.path()), Error);
}

TEST(RunName, KeepsTheLastNameOfAPath) {
  EXPECT_EQ(run_name("fashion-mnist", "res12", 16, ""), "fashion-mnist-res12-w16");
  EXPECT_EQ(run_name("some/where/my faces/", "res6", 4, "try.2"), "my_faces-res6-w4-try.2");
  EXPECT_EQ(run_name("cifar10:some/folder", "res6", 4, ""), "cifar10-res6-w4");
  EXPECT_EQ(run_name("a/x.npy", "res6", 4, ""), "x-res6-w4");
  EXPECT_THROW(run_name("a", "res6", 4, "../up"), Error);
}

}  // namespace
}  // namespace mdsm::train
