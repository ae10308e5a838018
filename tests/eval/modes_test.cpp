#include "eval/modes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "classify/training.h"
#include "core/random.h"
#include "eval/tensor_images.h"
#include "temporary_folder.h"

namespace mdsm::eval {
namespace {

TEST(Modes, CountsAndDivergence) {
  const std::vector<int> found = {0, 0, 1, 3};
  const ModeCount count = count_modes(found, 4);
  EXPECT_EQ(count.n, 4);
  EXPECT_EQ(count.covered, 3);
  EXPECT_EQ(count.counts, (std::vector<int64_t>{2, 1, 0, 1}));
  EXPECT_NEAR(count.divergence, 0.5 * std::log(2), 1e-12);
  EXPECT_NEAR(count.expected_uniform, 4 * (1 - std::pow(0.75, 4)), 1e-12);
  EXPECT_NEAR(count_modes(std::vector<int>{0, 1, 2, 3}, 4).divergence, 0, 1e-12);
  EXPECT_NEAR(count_modes(std::vector<int>(9, 2), 4).divergence, std::log(4), 1e-12);
  EXPECT_THROW(count_modes(found, 3), Error);
}

// Three kinds of picture: dark, a bright left half, a bright lower half.
void draw(int kind, float noise, std::span<float> out) {
  for (int i = 0; i < 64; ++i) {
    const bool bright = (kind == 1 && i % 8 < 4) || (kind == 2 && i / 8 >= 4);
    out[static_cast<size_t>(i)] = (bright ? 0.8f : 0.1f) + noise * out[static_cast<size_t>(i)];
  }
}

class Kinds : public data::Dataset {
 public:
  int64_t size() const override { return 300; }
  Shape image_shape() const override { return {1, 1, 8, 8}; }
  int label(int64_t i) const override { return static_cast<int>(i % 3); }
  std::string description() const override { return "kinds"; }
  void read(int64_t i, std::span<float> out) const override {
    RandomStream(2, Purpose::check, static_cast<uint64_t>(i)).fill_uniform(out, 0, 1);
    draw(static_cast<int>(i % 3), 0.1f, out);
  }
};

TEST(Modes, ReadsTheFirstChannelAsTheHighestDigit) {
  const classify::Classifier classifier = classify::train_classifier(
      Kinds(), {.width = 4, .features = 8, .epochs = 6, .batch = 20, .lr = 5e-3, .shift = 0});
  ASSERT_EQ(classify::accuracy(classifier, Kinds()).rate, 1);
  Tensor x({2, 3, 8, 8}, 0.5f);
  const int kinds[2][3] = {{1, 2, 0}, {0, 1, 2}};
  for (int64_t i = 0; i < 2; ++i)
    for (size_t c = 0; c < 3; ++c) draw(kinds[i][c], 0.1f, x.view().image(i).subspan(64 * c, 64));
  const TensorImages images(std::move(x), "x");
  EXPECT_EQ(stacked_modes(classifier, images), (std::vector<int>{9 + 6, 3 + 2}));
  const ModeCount count = count_stacked_modes(classifier, images);
  EXPECT_EQ(count.modes, 27);
  EXPECT_EQ(count.covered, 2);
  EXPECT_EQ(count.counts[15], 1);
  EXPECT_THROW(stacked_modes(classifier, TensorImages(Tensor({2, 1, 8, 8}), "x")), Error);
  EXPECT_THROW(stacked_modes(classifier, TensorImages(Tensor({2, 3, 9, 8}), "x")), Error);
}

}  // namespace
}  // namespace mdsm::eval
