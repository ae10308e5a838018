#include "core/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
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

TEST_F(ThreadsTest, RangesDependOnCountAndGrainAlone) {
  for (const int64_t count : {3, 10, 64, 100, 1000, 100'000})
    for (const int64_t grain : {1, 7, 30, 50}) {
      set_thread_count(1);
      const Ranges alone = ranges_of(count, grain);
      EXPECT_LE(alone.size(), static_cast<size_t>(kMostRanges));
      EXPECT_GE(alone.size(), static_cast<size_t>(std::clamp<int64_t>(count / grain, 1, kMostRanges)));
      for (const auto& [begin, end] : alone) EXPECT_GE(end - begin, std::min(count, grain));
      for (const int threads : {2, 3, 7, 100}) {
        set_thread_count(threads);
        EXPECT_EQ(ranges_of(count, grain), alone) << threads << " threads, " << count << ", " << grain;
      }
    }
}

TEST_F(ThreadsTest, GrainOfZeroIsTakenAsOne) {
  set_thread_count(2);
  EXPECT_EQ(ranges_of(3, 0), (Ranges{{0, 1}, {1, 2}, {2, 3}}));
}

// Waits for something that another thread does; gives up after a while, so that a test fails and does not
// hang.
bool comes_true(const std::function<bool()>& wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!wanted() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return wanted();
}

TEST_F(ThreadsTest, AllThreadsTakePart) {
  for (const int threads : {2, 4}) {
    set_thread_count(threads);
    std::set<std::thread::id> ids;
    std::mutex mutex;
    std::atomic<int> inside = 0;
    parallel_for(threads, 1, [&](int64_t, int64_t) {
      {
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
      }
      ++inside;
      EXPECT_TRUE(comes_true([&] { return inside == threads; }));
    });
    EXPECT_EQ(ids.size(), static_cast<size_t>(threads));
    EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
  }
}

TEST_F(ThreadsTest, NobodyWaitsForAThreadThatHasNotBegun) {
  set_thread_count(static_cast<int>(kMostRanges));
  std::atomic<int64_t> stuck = 0;
  std::atomic<bool> released = false;
  // Takes all threads there can be, each with one range, until it is released.
  std::thread other([&] {
    parallel_for(kMostRanges, 1, [&](int64_t, int64_t) {
      ++stuck;
      EXPECT_TRUE(comes_true([&] { return released.load(); }));
    });
  });
  EXPECT_TRUE(comes_true([&] { return stuck == kMostRanges; }));
  int64_t sum = 0;  // on this thread alone
  parallel_for(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
  EXPECT_FALSE(released);
  released = true;
  other.join();
}

TEST_F(ThreadsTest, LoopsInsideLoopsRunOnTheirThread) {
  set_thread_count(3);
  std::vector<int> visits(20 * 30);
  parallel_for(20, 1, [&](int64_t begin, int64_t end) {
    const auto outer = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i)
      parallel_for(30, 1, [&](int64_t first, int64_t last) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        for (int64_t j = first; j < last; ++j) ++visits[static_cast<size_t>(i * 30 + j)];
      });
  });
  EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
}

// More at a time than there is room for helpers.
TEST_F(ThreadsTest, ManyThreadsMayCallAtTheSameTime) {
  set_thread_count(4);
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(24);
  for (auto& sum : sums)
    callers.emplace_back([&sum] {
      for (int trial = 0; trial < 200; ++trial) {
        std::vector<int64_t> values(257);
        parallel_for(257, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] += i;
        });
        sum += std::accumulate(values.begin(), values.end(), int64_t{0});
      }
    });
  for (auto& caller : callers) caller.join();
  for (const int64_t sum : sums) EXPECT_EQ(sum, 200 * 257 * 256 / 2);
}

TEST_F(ThreadsTest, ThreadsWithoutWorkSleep) {
  set_thread_count(4);
  ranges_of(1000, 1);
  const auto cpu_seconds = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_LT(cpu_seconds() - before, 0.1);
}

// A child of fork() has no threads but its own: loops run on it, and it can end.
TEST_F(ThreadsTest, AChildRunsItsLoopsAlone) {
  set_thread_count(4);
  ranges_of(1000, 1);
  for (const bool plain_end : {false, true}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      set_thread_count(static_cast<int>(kMostRanges));  // more than the parent may have started
      std::atomic<int64_t> sum = 0;
      parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      if (plain_end) ::_exit(sum == 1000 ? 0 : 1);
      std::exit(sum == 1000 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
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

TEST_F(ThreadsTest, OfSeveralExceptionsTheFirstRangesIsThrown) {
  for (const int threads : {1, 4}) {
    set_thread_count(threads);
    for (int trial = 0; trial < 20; ++trial) try {
        parallel_for(40, 1, [&](int64_t begin, int64_t) {
          if (begin % 7 == 3) fail("", "index {}", begin);
        });
        FAIL() << "no exception";
      } catch (const Error& error) {
        EXPECT_EQ(error.message(), "index 3");
      }
  }
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
  EXPECT_EQ(visits[0], 0);
  EXPECT_EQ(std::accumulate(visits.begin(), visits.end(), 0), 99);
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
