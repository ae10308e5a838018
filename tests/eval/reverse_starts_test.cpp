#include "eval/reverse_starts.h"

#include <gtest/gtest.h>

#include <set>

#include "core/random.h"
#include "eval/list_dataset.h"

namespace mdsm::test {
namespace {

std::shared_ptr<ListDataset> numbered(int64_t n) {
  Tensor x({n, 1, 1, 1});
  for (int64_t i = 0; i < n; ++i) x.data()[i] = static_cast<float>(i);
  return std::make_shared<ListDataset>(std::move(x));
}

TEST(ReverseStarts, EveryImageOnceThenFromTheFirstAgain) {
  const eval::ReverseStarts starts(numbered(20), 3);
  const Tensor all = starts.images(0, 20), later = starts.images(18, 4);
  EXPECT_EQ(std::set<float>(all.values().begin(), all.values().end()).size(), 20u);
  EXPECT_FALSE(std::ranges::is_sorted(all.values()));
  EXPECT_EQ(later.data()[0], all.data()[18]);
  EXPECT_EQ(later.data()[2], all.data()[0]);
}

TEST(ReverseStarts, TheHashIsOfThoseThatAreUsed) {
  const eval::ReverseStarts a(numbered(20), 3), b(numbered(20), 3), other(numbered(20), 4);
  EXPECT_EQ(a.hash(5), b.hash(5));
  EXPECT_NE(a.hash(5), a.hash(6));
  EXPECT_NE(a.hash(5), other.hash(5));
}

}  // namespace
}  // namespace mdsm::test
