#include "core/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace mdsm {
namespace {

TEST(DurationText, PicksTheUnitForTheSize) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(42), "42 s");
  EXPECT_EQ(duration_text(185), "3 min 05 s");
  EXPECT_EQ(duration_text(7800), "2 h 10 min");
  EXPECT_EQ(duration_text(30 * 3600 + 60), "30 h 01 min");
}

TEST(DurationText, RoundsBeforeItPicksTheUnit) {
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1 min 00 s");
  EXPECT_EQ(duration_text(3599.6), "1 h 00 min");
}

std::string said_in_ten_steps() {
  testing::internal::CaptureStderr();
  {
    Progress progress("train", 10, "steps");
    for (int i = 1; i <= 10; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      progress.update(i, "loss 1");
    }
    Progress::clear_line();
  }
  return testing::internal::GetCapturedStderr();
}

// Test programs have no terminal on standard error, and a log file must not fill up with progress lines.
TEST(Progress, IsSilentForAMinuteWithoutATerminal) { EXPECT_EQ(said_in_ten_steps(), ""); }

TEST(Progress, SaysALineNowAndThenWithoutATerminal) {
  ::setenv("MDSM_PROGRESS_SECONDS", "0.001", 1);
  const std::string said = said_in_ten_steps();
  ::unsetenv("MDSM_PROGRESS_SECONDS");
  EXPECT_EQ(said.find("train: 1 of 10 steps, "), 0u) << said;
  EXPECT_NE(said.find("left, loss 1\n"), std::string::npos) << said;
}

}  // namespace
}  // namespace mdsm
