#include "core/progress.h"

#include <gtest/gtest.h>

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

// Test programs have no terminal on standard error, and a log file must not fill up with progress lines.
TEST(Progress, IsSilentWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress("train", 10, "steps");
    for (int i = 1; i <= 10; ++i) progress.update(i, "loss 1");
    Progress::clear_line();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace mdsm
