// The search for neighbours against comparing every pair in double.
#include "eval/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "core/threads.h"
#include "eval/list_dataset.h"
#include "temporary_folder.h"

namespace mdsm::test {
namespace {

Tensor random_images(int64_t n, int64_t channels, int64_t size, uint64_t seed) {
  Tensor x({n, channels, size, size});
  RandomStream(seed, Purpose::check).fill_uniform(x.values(), 0, 1);
  return x;
}

std::vector<eval::Neighbour> by_hand(const ListDataset& data, std::span<const float> image, int64_t k) {
  std::vector<eval::Neighbour> all;
  for (int64_t i = 0; i < data.size(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < image.size(); ++j) {
      const double difference = static_cast<double>(image[j]) - data.image(i)[j];
      sum += difference * difference;
    }
    all.push_back({i, std::sqrt(sum)});
  }
  std::ranges::stable_sort(all, {}, &eval::Neighbour::distance);
  all.resize(static_cast<size_t>(k));
  return all;
}

void expect_equal(const ListDataset& data, const Tensor& images, const eval::Neighbours& found) {
  for (int64_t i = 0; i < images.shape().n; ++i) {
    const auto wanted = by_hand(data, images.view().image(i), found.k);
    for (int64_t rank = 0; rank < found.k; ++rank) {
      EXPECT_EQ(found.of(i, rank).index, wanted[static_cast<size_t>(rank)].index) << i << " " << rank;
      EXPECT_DOUBLE_EQ(found.of(i, rank).distance, wanted[static_cast<size_t>(rank)].distance);
    }
  }
}

// Sizes around the blocks of the search, one thread and two.
TEST(Neighbours, AreThoseOfEveryPair) {
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    for (const int64_t n : {1, 15, 64, 65, 511, 512, 513, 1100}) {
      const ListDataset data(random_images(n, 1, 8, 1));
      const Tensor images = random_images(n == 65 ? 400 : 13, 1, 8, 2);
      expect_equal(data, images, eval::nearest_neighbours(data, images, std::min<int64_t>(n, 5)));
    }
  }
  set_thread_count(0);
}

TEST(Neighbours, FindsAnImageThatIsThere) {
  Tensor training = random_images(500, 3, 16, 3);
  Tensor images({2, 3, 16, 16});
  std::ranges::copy(training.view().image(123), images.view().image(0).begin());
  std::ranges::copy(training.view().image(499), images.view().image(1).begin());
  images.view().image(1)[5] += 0.25f;
  const auto found = eval::nearest_neighbours(ListDataset(std::move(training)), images, 3);
  EXPECT_EQ(found.of(0, 0).index, 123);
  EXPECT_EQ(found.of(0, 0).distance, 0);
  EXPECT_EQ(found.of(1, 0).index, 499);
  EXPECT_NEAR(found.of(1, 0).distance, 0.25, 1e-6);
}

// Differences far below the rounding of a product in float: only the search in double tells them apart.
TEST(Neighbours, RoundingIsNoticed) {
  Tensor training({200, 1, 8, 8}, 1.0f), images({1, 1, 8, 8}, 1.0f);
  for (int64_t i = 0; i < 200; ++i)
    training.view().image(i)[0] = 1 + 1e-6f * static_cast<float>((i * 37) % 200);
  const ListDataset data(std::move(training));
  const auto found = eval::nearest_neighbours(data, images, 4);
  EXPECT_EQ(found.searched_in_double, 1);
  expect_equal(data, images, found);
  const auto easy =
      eval::nearest_neighbours(ListDataset(random_images(500, 1, 8, 4)), random_images(20, 1, 8, 5), 2);
  EXPECT_LE(easy.searched_in_double, 2);
}

TEST(Neighbours, MemorisationByHand) {
  const std::vector<double> held_out{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, copies{0, 0, 2.5, 20};
  const auto m = eval::memorisation(copies, held_out, 0.2);
  EXPECT_EQ(m.threshold, 3);  // 1 and 2 lie below it
  EXPECT_EQ(m.share, 0.75);
  EXPECT_NEAR(m.share_error, std::sqrt(0.75 * 0.25 / 4), 1e-12);
  EXPECT_EQ(m.sample_mean, 5.625);
  EXPECT_EQ(m.held_out_mean, 5.5);
  const auto none = eval::memorisation(std::vector<double>(98, 20), held_out, 0.2);
  EXPECT_EQ(none.share, 0);
  EXPECT_NEAR(none.share_error, std::sqrt(0.01 * 0.99 / 98), 1e-12);  // not certainly none
  EXPECT_ERROR(eval::memorisation(copies, held_out, 1), "quantile of 1");
  EXPECT_ERROR(eval::memorisation({}, held_out, 0.5), "no distances");
}

TEST(Neighbours, AllImagesOneAfterTheOther) {
  const ListDataset a(random_images(3, 1, 8, 1)), b(random_images(2, 1, 8, 2));
  const Tensor all = eval::all_images({&a, nullptr, &b});
  ASSERT_EQ(all.shape(), (Shape{5, 1, 8, 8}));
  EXPECT_TRUE(std::ranges::equal(all.view().image(2), a.image(2)));
  EXPECT_TRUE(std::ranges::equal(all.view().image(3), b.image(0)));
}

TEST(Neighbours, RefusesNonsense) {
  const ListDataset data(random_images(10, 1, 8, 1));
  EXPECT_ERROR(eval::nearest_neighbours(data, random_images(2, 1, 16, 1), 1), "cannot be compared");
  EXPECT_ERROR(eval::nearest_neighbours(data, random_images(2, 1, 8, 1), 11), "11 neighbours among 10");
  EXPECT_ERROR(eval::nearest_neighbours(data, random_images(2, 1, 8, 1), 0), "0 neighbours");
  Tensor odd = random_images(2, 1, 8, 1);
  odd.data()[70] = NAN;
  EXPECT_ERROR(eval::nearest_neighbours(data, odd, 1), "image 1 has a value");
}

}  // namespace
}  // namespace mdsm::test
