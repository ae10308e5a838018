#include "restore/halves.h"

#include <gtest/gtest.h>

#include <limits>

#include "restore/masks.h"
#include "sample/analytic_energy.h"

namespace mdsm::restore {
namespace {

TEST(Halves, EndNearestToTheSizeOfTheTraining) {
  EXPECT_EQ(halvings({1, 3, 32, 32}, 32), 0);
  EXPECT_EQ(halvings({1, 3, 45, 4000}, 32), 0);
  EXPECT_EQ(halvings({1, 3, 46, 46}, 32), 1);
  EXPECT_EQ(halvings({1, 3, 96, 96}, 32), 2);
  EXPECT_EQ(halvings({1, 3, 3000, 4000}, 32), 7);
}

TEST(Halves, AreMeansOfWhatIsKnown) {
  // 5x5: the cells at the right and lower edges have two pixels or one. Missing: three pixels of the first
  // cell, one of the cell beside it, the corner.
  image::Mask mask = test::box_mask(5, {0, 0, 1, 2});
  for (const size_t at : {size_t{1}, size_t{2}, size_t{24}}) mask.known[at] = 0;
  Tensor images({2, 3, 5, 5});
  for (size_t i = 0; i < images.values().size(); ++i)
    images.values()[i] =
        mask.known[i % 25] ? static_cast<float>(i % 25) : std::numeric_limits<float>::quiet_NaN();
  const Halved half = halved(images, mask);
  EXPECT_EQ(half.images.shape(), (Shape{2, 3, 3, 3}));
  EXPECT_EQ(half.mask.known, (std::vector<uint8_t>{0, 1, 1, 1, 1, 1, 1, 1, 0}));
  for (int64_t plane = 0; plane < 6; ++plane) {
    const float* found = half.images.data() + plane * 9;
    EXPECT_FLOAT_EQ(found[0], 0.5f);
    EXPECT_FLOAT_EQ(found[1], (3 + 7 + 8) / 3.0f);
    EXPECT_FLOAT_EQ(found[2], (4 + 9) / 2.0f);
    EXPECT_FLOAT_EQ(found[4], (12 + 13 + 17 + 18) / 4.0f);
    EXPECT_FLOAT_EQ(found[8], 0.5f);
  }
}

TEST(Halves, FillARampWithItself) {
  const Shape shape{1, 1, 16, 16};
  const image::Mask mask = test::box_mask(16, {5, 6, 6, 5});
  Tensor images(shape), half({1, 1, 8, 8});
  for (int64_t i = 0; i < 256; ++i) images.data()[i] = static_cast<float>(i % 16 + 2 * (i / 16));
  for (int64_t i = 0; i < 64; ++i)
    half.data()[i] = static_cast<float>(2 * (i % 8)) + 0.5f + 2 * (static_cast<float>(2 * (i / 8)) + 0.5f);
  const Tensor whole = filled_from_half(images, mask, half);
  for (size_t i = 0; i < 256; ++i) EXPECT_FLOAT_EQ(whole.data()[i], images.data()[i]) << i;

  // A window of it, from row 3 and column 4 on.
  Tensor part({1, 1, 10, 9});
  const image::Mask none{{1, 1, 10, 9}, std::vector<uint8_t>(90)};
  const Tensor seen = filled_from_half(part, none, half, 3, 4);
  for (int64_t y = 0; y < 10; ++y)
    for (int64_t x = 0; x < 9; ++x)
      EXPECT_FLOAT_EQ(seen.data()[y * 9 + x], images.data()[(y + 3) * 16 + x + 4]);
}

TEST(Halves, MeasureMeansWhereAllOfATwoByTwoIsMissing) {
  // Columns and rows 3 to 7 of 9 are missing: the cells at 4 and 6 are whole, those at 2 have known pixels.
  const image::Mask mask = test::box_mask(9, {3, 3, 5, 5});
  Tensor x({1, 1, 9, 9});
  RandomStream(2, Purpose::check).fill_normal(x.values());
  const auto measurement = halves_measurement(mask);
  const Tensor once = measurement->measure(x), twice = measurement->measure(once);
  for (size_t i = 0; i < 81; ++i) EXPECT_FLOAT_EQ(once.data()[i], twice.data()[i]);
  const auto at = [&](const Tensor& of, int row, int column) { return of.data()[row * 9 + column]; };
  EXPECT_FLOAT_EQ(at(once, 4, 7), (at(x, 4, 6) + at(x, 4, 7) + at(x, 5, 6) + at(x, 5, 7)) / 4);
  EXPECT_EQ(at(once, 3, 3), 0);
  EXPECT_EQ(at(once, 2, 3), at(x, 2, 3));

  // A window of that picture, from row 1 and column 3 on, cuts cells at its left and lower edge.
  const image::Mask seen = test::box_mask(6, {0, 2, 5, 4});
  const sample::WindowPlace place{9, 9, 1, 3};
  Tensor part({1, 1, 6, 6}), out({1, 1, 6, 6});
  RandomStream(3, Purpose::check).fill_normal(part.values());
  halves_measurement(seen, &place)->project(0, part.data(), out.data(), part.shape());
  const auto in = [&](const Tensor& of, int row, int column) { return of.data()[row * 6 + column]; };
  EXPECT_FLOAT_EQ(in(out, 3, 1), (in(part, 3, 1) + in(part, 3, 2) + in(part, 4, 1) + in(part, 4, 2)) / 4);
  EXPECT_EQ(in(out, 3, 0), 0);
  EXPECT_EQ(in(out, 5, 1), 0);
}

// An energy that wants everything dark cannot darken what the half has.
TEST(Halves, KeepTheirColourAtTheFinerScale) {
  test::GaussianEnergy engine(0.3);
  engine.precision.assign(engine.precision.size(), 1 / (0.3 * 0.3));  // jumps to its mean, 0 to 0.63
  const Shape shape = engine.images(2);
  const image::Mask mask = test::box_mask(shape.w, {2, 2, 4, 4});
  const Tensor images(shape, 0.9f), half({shape.n, shape.c, shape.h / 2, shape.w / 2}, 0.9f);
  const std::vector<uint64_t> seeds = {1, 2};
  const sample::FastOptions options{.evaluations = 8, .sigma_max = 0.2};
  const auto finer = inpaint_finer({engine, seeds}, images, mask, half, options);
  const Tensor means = halves_measurement(mask)->measure(finer.x);
  for (const float value : means.values()) EXPECT_NEAR(value, 0.9, 1e-4);
  const auto plain = inpaint_fast({engine, seeds}, images, mask, options);
  EXPECT_LT(plain.x.data()[3 * shape.w + 3], 0.8);
}

}  // namespace
}  // namespace mdsm::restore
