#include "core/run_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/start_process.h"
#include "temporary_folder.h"

namespace mdsm {
namespace {

class RunProgram : public ::testing::Test {
 protected:
  ProgramEnd shell(const std::string& script) {
    return run_program({"/bin/sh", "-c", script}, folder_ / "out", folder_ / "log", stop_);
  }
  TemporaryFolder folder_;
  std::atomic<bool> stop_ = false;
};

TEST_F(RunProgram, OutputGoesIntoItsFile) {
  EXPECT_TRUE(shell("echo one; echo two").good);
  EXPECT_EQ(read_text(folder_ / "out"), "one\ntwo\n");
}

TEST_F(RunProgram, OpenFilesAreNotTheChilds) {
  const int file = open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as a library opens them
  EXPECT_TRUE(shell("test -e /proc/self/fd/0").good);
  EXPECT_FALSE(shell("test -e /proc/self/fd/" + std::to_string(file)).good);
  close(file);
}

TEST_F(RunProgram, FailureIsToldWithTheExitCode) {
  const ProgramEnd end = shell("echo first >&2; echo it hurts >&2; exit 3");
  EXPECT_FALSE(end.good);
  EXPECT_EQ(end.how.rfind("exit code 3", 0), 0u) << end.how;
  EXPECT_EQ(shell("kill -9 $$").how.rfind("ended by signal 9 (Killed)", 0), 0u);
}

TEST_F(RunProgram, StopIsHandedOn) {
  if (isatty(0)) GTEST_SKIP() << "a terminal sends its signals to the child itself";
  stop_ = true;
  const ProgramEnd end = shell("sleep 100");
  EXPECT_EQ(end.how.rfind("ended by signal 15", 0), 0u) << end.how;
}

TEST_F(RunProgram, MissingProgramIsNamed) {
  EXPECT_ERROR(run_program({"/no/such/program"}, folder_ / "out", folder_ / "log", stop_),
               "/no/such/program: No such file");
  EXPECT_ERROR(run_program({"/bin/true"}, folder_ / "none/out", folder_ / "log", stop_), "cannot be written");
}

TEST(LastLine, LeavesOutLineBreaksAtTheEnd) {
  EXPECT_EQ(last_line("one\ntwo\n\n"), "two");
  EXPECT_EQ(last_line("one"), "one");
  EXPECT_EQ(last_line("\n"), "");
}

}  // namespace
}  // namespace mdsm
