#include "data/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

#include "temporary_folder.h"

namespace mdsm::data {
namespace {

// Image i holds i and its mirror image tells left from right; reading image `bad` fails.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size, int64_t bad = -1) : size_(size), bad_(bad) {}
  int64_t size() const override { return size_; }
  Shape image_shape() const override { return {1, 2, 2, 3}; }
  void read(int64_t index, std::span<float> out) const override {
    if (index == bad_) fail("none", "image {} is broken", index);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(index * 100 + static_cast<int64_t>(i));
    ++reads_;
  }
  std::string description() const override { return "numbers"; }
  int64_t reads() const { return reads_; }

 private:
  int64_t size_, bad_;
  mutable std::atomic<int64_t> reads_{0};
};

int64_t number(const Tensor& batch, int64_t i) {
  return static_cast<int64_t>(batch.view().image(i)[1]) / 100;
}

std::vector<std::vector<float>> batches(const Dataset& data, const LoaderOptions& options, int64_t count) {
  Loader loader(data, options);
  std::vector<std::vector<float>> result;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor batch = loader.next();
    EXPECT_EQ(batch.shape(), data.image_shape().with_n(options.batch));
    result.emplace_back(batch.values().begin(), batch.values().end());
  }
  EXPECT_EQ(loader.cursor(), options.first_step + count);
  return result;
}

TEST(Loader, BatchesAreAFunctionOfSeedAndStep) {
  const Numbers data(23);
  LoaderOptions options{.batch = 5, .seed = 9, .augment = {.flip = true}};
  const auto all = batches(data, options, 40);
  for (const int prefetch : {1, 2, 9}) {
    options.prefetch = prefetch;
    EXPECT_EQ(batches(data, options, 40), all);
  }
  for (const int64_t first : {1, 4, 5, 17, 39}) {
    options.first_step = first;
    const auto rest = batches(data, options, 40 - first);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + first)) << first;
  }
  options.first_step = 0;
  options.seed = 10;
  EXPECT_NE(batches(data, options, 40), all);
}

TEST(Loader, EveryImageOncePerEpochAndEpochsDiffer) {
  const Numbers data(23);
  Loader loader(data, {.batch = 5, .seed = 1});
  std::vector<int64_t> stream;
  while (stream.size() < 23 * 5) {  // epochs end inside batches
    const Tensor batch = loader.next();
    for (int64_t i = 0; i < 5; ++i) stream.push_back(number(batch, i));
  }
  std::set<std::vector<int64_t>> orders;
  for (int epoch = 0; epoch < 5; ++epoch) {
    std::vector<int64_t> part(stream.begin() + epoch * 23, stream.begin() + (epoch + 1) * 23);
    orders.insert(part);
    std::sort(part.begin(), part.end());
    for (int64_t i = 0; i < 23; ++i) EXPECT_EQ(part[static_cast<size_t>(i)], i);
  }
  EXPECT_EQ(orders.size(), 5u);
}

TEST(Loader, ABatchLargerThanTheSetWraps) {
  const Numbers data(3);
  Loader loader(data, {.batch = 10});
  const Tensor batch = loader.next();
  std::vector<int> counts(3);
  for (int64_t i = 0; i < 9; ++i) ++counts[static_cast<size_t>(number(batch, i))];
  EXPECT_EQ(counts, (std::vector<int>{3, 3, 3}));
}

TEST(Loader, FlipsHalfOfTheImagesRowByRow) {
  const Numbers data(50);
  Loader plain(data, {.batch = 1000, .seed = 2}),
      flipped(data, {.batch = 1000, .seed = 2, .augment = {.flip = true}});
  const Tensor a = plain.next(), b = flipped.next();
  int flips = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const auto x = a.view().image(i), y = b.view().image(i);
    const bool flip = x[0] != y[0];
    flips += flip;
    for (size_t row = 0; row < 4; ++row)
      for (size_t k = 0; k < 3; ++k) ASSERT_EQ(y[row * 3 + k], x[row * 3 + (flip ? 2 - k : k)]);
  }
  EXPECT_NEAR(flips, 500, 80);
}

TEST(Loader, ErrorsOfTheThreadArriveAtTheirPlace) {
  const Numbers data(40, 17);
  Loader loader(data, {.batch = 4});
  int good = 0;
  std::string text;
  try {
    for (; good < 11; ++good) loader.next();
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_LT(good, 10);
  EXPECT_NE(text.find("image 17 is broken"), std::string::npos);
  EXPECT_ERROR(loader.next(), "image 17 is broken");  // and again
}

TEST(Loader, EndsWhileItsThreadWaits) {
  const Numbers data(10);
  for (int i = 0; i < 20; ++i) Loader loader(data, {.batch = 2, .prefetch = 1});
  const int64_t before = data.reads();
  Loader loader(data, {.batch = 2, .prefetch = 3});
  const auto start = std::chrono::steady_clock::now();
  while (data.reads() < before + 8 && std::chrono::steady_clock::now() - start < std::chrono::seconds(10))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(data.reads(), before + 8);  // three batches ready, a fourth in hand, then it waits
}

TEST(Loader, BadOptionsAreErrors) {
  const Numbers data(10), none(0);
  EXPECT_ERROR(Loader(data, {.batch = 0}), "batch 0");
  EXPECT_ERROR(Loader(data, {.first_step = -1}), "first step -1");
  EXPECT_ERROR(Loader(data, {.prefetch = 0}), "prefetch 0");
  EXPECT_ERROR(Loader(none, {}), "0 images");
}

}  // namespace
}  // namespace mdsm::data
