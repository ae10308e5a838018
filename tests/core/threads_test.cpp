#include "core/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"

namespace mdsm {
namespace {

// Puts the default back, so that the order of tests does not matter.
class ThreadsTest : public ::testing::Test {
 protected:
  ~ThreadsTest() override { set_thread_count(0); }
};

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

Ranges ranges_of(int64_t count, int64_t grain) {
  Ranges ranges;
  std::mutex mutex;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    ranges.emplace_back(begin, end);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

TEST_F(ThreadsTest, EveryIndexIsVisitedOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    for (const int64_t count : {1, 2, 5, 6, 7, 8, 1000, 1001})
      for (const int64_t grain : {1, 3, 100, 5000}) {
        std::vector<int> visits(static_cast<size_t>(count));
        parallel_for(count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        EXPECT_EQ(visits, std::vector<int>(static_cast<size_t>(count), 1))
            << threads << " threads, count " << count << ", grain " << grain;
      }
  }
}

TEST_F(ThreadsTest, NothingToDoCallsNothing) {
  EXPECT_TRUE(ranges_of(0, 1).empty());
  EXPECT_TRUE(ranges_of(-5, 1).empty());
}

TEST_F(ThreadsTest, AtMostOneRangePerThreadAndNoneBelowTheGrain) {
  set_thread_count(4);
  EXPECT_EQ(ranges_of(100, 1).size(), 4u);
  EXPECT_EQ(ranges_of(100, 50).size(), 2u);
  EXPECT_EQ(ranges_of(99, 50), (Ranges{{0, 99}}));
  for (const auto& [begin, end] : ranges_of(100, 30)) EXPECT_GE(end - begin, 30);
  for (const auto& [begin, end] : ranges_of(3, 1)) EXPECT_LT(begin, end) << "empty range handed out";
}

TEST_F(ThreadsTest, GrainOfZeroIsTakenAsOne) {
  set_thread_count(2);
  EXPECT_EQ(ranges_of(10, 0), (Ranges{{0, 5}, {5, 10}}));
}

TEST_F(ThreadsTest, SplitIsTheSameEveryTime) {
  set_thread_count(3);
  EXPECT_EQ(ranges_of(1000, 7), ranges_of(1000, 7));
}

TEST_F(ThreadsTest, RangesRunOnDifferentThreads) {
  set_thread_count(2);
  std::set<std::thread::id> ids;
  std::mutex mutex;
  parallel_for(2, 1, [&](int64_t, int64_t) {
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST_F(ThreadsTest, ExceptionReachesTheCallerFromAnyRange) {
  set_thread_count(4);
  for (const int64_t bad : {0, 33, 66, 99}) {
    const auto body = [&](int64_t begin, int64_t end) {
      if (begin <= bad && bad < end) fail("no hint", "index {}", bad);
    };
    try {
      parallel_for(100, 1, body);
      FAIL() << "no exception for index " << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "index " + std::to_string(bad));
    }
  }
  EXPECT_THROW(parallel_for(1, 1, [](int64_t, int64_t) { fail("", "alone"); }), Error);
}

TEST_F(ThreadsTest, OtherRangesFinishWhenOneThrows) {
  set_thread_count(4);
  std::vector<int> visits(100);
  EXPECT_THROW(parallel_for(100, 1,
                            [&](int64_t begin, int64_t end) {
                              if (begin == 0) fail("", "first range");
                              for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
                            }),
               Error);
  EXPECT_EQ(std::accumulate(visits.begin(), visits.end(), 0), 75);
}

TEST_F(ThreadsTest, CountIsWhatWasSetAndZeroMeansAll) {
  set_thread_count(5);
  EXPECT_EQ(thread_count(), 5);
  set_thread_count(0);
  EXPECT_EQ(thread_count(), hardware_threads());
  EXPECT_GE(hardware_threads(), 1);
}

}  // namespace
}  // namespace mdsm
