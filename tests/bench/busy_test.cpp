#include "bench/busy.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>

namespace mdsm::bench {
namespace {

TEST(BusyNeighbours, RunAsLongAsTheObjectAndNoLonger) {
  {
    const BusyNeighbours busy(2);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), 0) << "they have ended";
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "some are left";
}

}  // namespace
}  // namespace mdsm::bench
