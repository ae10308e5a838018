#include "core/child_process.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"

namespace mdsm {
namespace {

std::string message(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

ChildProcess shell(const std::string& script, const Environment& environment = {}) {
  return {"the child", {"sh", "-c", script}, environment};
}

TEST(ChildProcess, AnswersLineByLine) {
  ChildProcess child = shell("while read line; do echo \"got $line\"; done");
  EXPECT_EQ(child.exchange("one", 30), "got one");
  EXPECT_EQ(child.exchange("two", 30), "got two");
}

TEST(ChildProcess, GetsItsEnvironmentAndLeavesOursAlone) {
  setenv("MDSM_TEST_OLD", "before", 1);
  ChildProcess child = shell("while read l; do echo $MDSM_TEST_OLD $MDSM_TEST_NEW; done",
                             {{"MDSM_TEST_OLD", "after"}, {"MDSM_TEST_NEW", "x"}});
  EXPECT_EQ(child.exchange("", 30), "after x");
  EXPECT_STREQ(getenv("MDSM_TEST_OLD"), "before");
  EXPECT_EQ(getenv("MDSM_TEST_NEW"), nullptr);
}

TEST(ChildProcess, IsFrozenBetweenAnswers) {
  ChildProcess child = shell("while read l; do echo $$; done");
  const std::string pid = child.exchange("", 30);
  std::string number, name, state;
  for (int i = 0; i < 10000 && state != "T"; ++i)
    std::ifstream("/proc/" + pid + "/stat") >> number >> name >> state;
  EXPECT_EQ(state, "T");
  EXPECT_EQ(child.exchange("", 30), pid);
}

TEST(ChildProcess, MissingProgramIsNamed) {
  const std::string said = message([] { ChildProcess("the child", {"/no/such/python3"}, {}); });
  EXPECT_NE(said.find("/no/such/python3: No such file"), std::string::npos) << said;
}

TEST(ChildProcess, DeathComesWithItsLastWords) {
  ChildProcess child = shell("read l; echo first >&2; echo 'it hurts' >&2; exit 3");
  const std::string said = message([&] { child.exchange("", 30); });
  EXPECT_NE(said.find("the child ended with exit code 3: it hurts"), std::string::npos) << said;
  EXPECT_NE(message([&] { child.exchange("", 30); }).find("not running"), std::string::npos);
}

TEST(ChildProcess, SignalIsNamed) {
  ChildProcess child = shell("read l; kill -9 $$");
  const std::string said = message([&] { child.exchange("", 30); });
  EXPECT_NE(said.find("signal 9"), std::string::npos) << said;
  EXPECT_NE(said.find("memory"), std::string::npos) << said;
}

TEST(ChildProcess, SilenceEndsInTime) {
  ChildProcess child = shell("read l; sleep 1000");
  const std::string said = message([&] { child.exchange("", 0.1); });
  EXPECT_NE(said.find("no answer within 0.1 s"), std::string::npos) << said;
}

TEST(ChildProcess, EndlessLineIsRefused) {
  ChildProcess child = shell("read l; tr '\\0' x < /dev/zero");
  const std::string said = message([&] { child.exchange("", 60); });
  EXPECT_NE(said.find("without an end of line"), std::string::npos) << said;
}

}  // namespace
}  // namespace mdsm
