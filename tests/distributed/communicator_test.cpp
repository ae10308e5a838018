// Ranks as threads: every way to send, agree and give up.
#include "distributed/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "core/error.h"
#include "distributed/thread_world.h"

namespace mdsm::distributed {
namespace {

TEST(Communicator, EqualPartsCoverAllAndDifferByOne) {
  for (const size_t count : {0, 1, 7, 8, 100})
    for (const int size : {1, 2, 3, 8}) {
      size_t next = 0;
      for (const Part& part : equal_parts(count, size)) {
        EXPECT_EQ(part.first, next);
        EXPECT_LE(part.count, count / static_cast<size_t>(size) + 1);
        EXPECT_GE(part.count, count / static_cast<size_t>(size));
        next += part.count;
      }
      EXPECT_EQ(next, count);
    }
}

TEST(Communicator, OneAloneTalksToNobody) {
  Communicator& one = alone();
  EXPECT_TRUE(one.alone() && one.first());
  EXPECT_EQ(one.broadcast("text"), "text");
  EXPECT_EQ(one.gather("own"), std::vector<std::string>{"own"});
  EXPECT_TRUE(one.any(true));
  EXPECT_FALSE(one.any(false));
  EXPECT_EQ(one.bytes_sent(), 0u);
}

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, BroadcastReachesAll) {
  for (const size_t length : {0, 1, 5, 100'000})
    run_ranks(GetParam(), [&](Communicator& world) {
      const std::string text(length, 'x');
      EXPECT_EQ(world.broadcast(world.first() ? text : "another"), text);
    });
}

TEST_P(Ranks, GatherBringsEveryPartToAll) {
  run_ranks(GetParam(), [&](Communicator& world) {
    std::vector<float> values(10, -1);
    const auto parts = equal_parts(values.size(), world.size());
    const Part own = parts[static_cast<size_t>(world.rank())];
    for (size_t i = own.first; i < own.first + own.count; ++i) values[i] = static_cast<float>(i);
    world.gather(values, parts);
    std::vector<float> all(10);
    std::iota(all.begin(), all.end(), 0.0f);
    EXPECT_EQ(values, all);
  });
}

TEST_P(Ranks, GatherTextsOfAnyLength) {
  const auto text = [](int rank) {
    return std::string(static_cast<size_t>(rank) * 7, static_cast<char>('a' + rank));
  };
  run_ranks(GetParam(), [&](Communicator& world) {
    const auto all = world.gather(text(world.rank())), first = world.gather_first(text(world.rank()));
    ASSERT_EQ(all.size(), static_cast<size_t>(world.size()));
    for (int rank = 0; rank < world.size(); ++rank) EXPECT_EQ(all[static_cast<size_t>(rank)], text(rank));
    EXPECT_EQ(first, world.first() ? all : std::vector<std::string>{});
  });
}

// A length that no memory is for.
TEST(Communicator, RefusesATextThatCannotBe) {
  for (const uint64_t length : {uint64_t{1} << 62, ~uint64_t{0}}) {
    const auto body = [&](Communicator& world) {
      if (world.first()) {
        world.gather_first("");
      } else {
        const Send announced{0, std::as_bytes(std::span(&length, 1))};
        world.exchange({&announced, 1}, {});
      }
    };
    try {
      run_ranks(2, body);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("rank 1 announces"), std::string::npos) << error.message();
    }
  }
}

TEST_P(Ranks, GatherNumbersInDouble) {
  run_ranks(GetParam(), [&](Communicator& world) {
    std::vector<double> values(7);
    const Part own = world.own_part(values.size());
    for (size_t i = own.first; i < own.first + own.count; ++i) values[i] = 1.0 / static_cast<double>(i + 3);
    world.gather(values, equal_parts(values.size(), world.size()));
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], 1.0 / static_cast<double>(i + 3));
  });
}

TEST_P(Ranks, AgreeWhenOneOfThemSaysSo) {
  for (int who = -1; who < GetParam(); ++who)
    run_ranks(GetParam(), [&](Communicator& world) { EXPECT_EQ(world.any(world.rank() == who), who >= 0); });
}

// Whoever waits gets the reason of the one that gave up, and nobody hangs.
TEST_P(Ranks, OneThatFailsEndsTheOthers) {
  if (GetParam() == 1) return;
  const int bad = GetParam() - 1;
  std::atomic<int> told = 0;
  const auto body = [&](Communicator& world) {
    if (world.rank() == bad) fail("", "the disk is full");
    try {
      world.barrier();
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), fmt::format("rank {} failed: the disk is full", bad));
      ++told;
      throw;
    }
  };
  EXPECT_THROW(run_ranks(GetParam(), body), Error);
  EXPECT_EQ(told, GetParam() - 1);
}

TEST_P(Ranks, CountWhatTheySend) {
  run_ranks(GetParam(), [&](Communicator& world) {
    std::vector<float> values(64);
    world.gather(values, equal_parts(values.size(), world.size()));
    const auto own = equal_parts(64, world.size())[static_cast<size_t>(world.rank())].count;
    EXPECT_EQ(world.bytes_sent(), own * sizeof(float) * static_cast<size_t>(world.size() - 1));
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Ranks, testing::Values(1, 2, 3, 4, 8));

}  // namespace
}  // namespace mdsm::distributed
