#include "train/stats_follower.h"

#include <gtest/gtest.h>

#include <fstream>

#include "temporary_folder.h"

namespace mdsm::train {
namespace {

class Follower : public ::testing::Test {
 protected:
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  static std::string line(int64_t step) {
    StatsRecord record;
    record.step = step;
    record.own = {{"loss_quarters", "", {1, 2, 3, 4}}};
    return json_text(to_json(record)) + "\n";
  }
  std::vector<int64_t> steps() {
    std::vector<int64_t> found;
    for (const StatsRecord& record : follower_.curve()) found.push_back(record.step);
    return found;
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "stats.jsonl";
  StatsFollower follower_{path_, 10};
};

TEST_F(Follower, ReadsWhatIsNew) {
  follower_.look();  // no file yet
  EXPECT_FALSE(follower_.last());
  append(line(1) + line(2) + line(3).substr(0, 20));
  follower_.look();
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2}));
  const uint64_t before = follower_.bytes_read();
  append(line(3).substr(20) + "no line of ours\n" + line(4));
  follower_.look();
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(value_of(follower_.last()->own, "loss_quarters", 2), 3);
  EXPECT_EQ(follower_.bytes_read() - before, line(3).size() + 16 + line(4).size());
  follower_.look();
  EXPECT_EQ(follower_.bytes_read() - before, line(3).size() + 16 + line(4).size());
}

TEST_F(Follower, KeepsABoundedNumberSpreadOverTheRun) {
  for (int64_t step = 0; step < 1000; ++step) {
    append(line(step));
    if (step % 7 == 0) follower_.look();
    EXPECT_LE(follower_.curve().size(), 10u);
  }
  follower_.look();
  EXPECT_EQ(steps(), (std::vector<int64_t>{0, 128, 256, 384, 512, 640, 768, 896, 999}));
  EXPECT_EQ(follower_.lines(), 1000u);
}

TEST_F(Follower, SeesThatAResumeHasCutTheFile) {
  append(line(1) + line(2) + line(3));
  follower_.look();
  cut_stats(path_, 1);
  append(line(5) + line(6) + line(7));
  follower_.look();
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 5, 6, 7}));
  std::ofstream(path_) << line(8) + line(9) + line(9) + line(9);  // the same file, as long as before
  follower_.look();
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 9, 9, 9}));
  fs::resize_file(path_, line(8).size());
  follower_.look();
  EXPECT_EQ(steps(), (std::vector<int64_t>{8}));
  fs::remove(path_);
  follower_.look();
  EXPECT_TRUE(steps().empty());
}

TEST_F(Follower, SkipsALineThatIsNotOurs) {
  append(line(1));
  for (int i = 0; i < 40; ++i) {
    append(std::string(100'000, 'x'));
    if (i % 9 == 0) follower_.look();
  }
  append("\n" + line(2));
  follower_.look();
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2}));
}

}  // namespace
}  // namespace mdsm::train
