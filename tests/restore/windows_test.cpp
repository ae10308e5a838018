#include "restore/windows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/registry/registry.h"
#include "engine/tiled_energy.h"
#include "restore/restore.h"
#include "small_network.h"

namespace mdsm::restore {
namespace {

TEST(Windows, WeightsAddUpToOneAwayFromTheEdges) {
  const WindowOptions options{96, 16, 8, 4};
  for (const int64_t size : {50, 96, 97, 130, 500, 501, 1000})
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, size}, {3, size - 5}, {20, 41}}) {
      std::vector<double> sums(static_cast<size_t>(size));
      for (const WindowSpan& span : window_spans(begin, end, size, options)) {
        EXPECT_EQ(span.start % 4, 0);
        EXPECT_LE(span.length, 96);
        EXPECT_LE(span.start + span.length, size);
        // What counts keeps its distance from every edge that is none of the picture.
        EXPECT_TRUE(span.start == 0 || span.first >= span.start + 16 - 8 - 4);
        EXPECT_TRUE(span.start + span.length == size || span.end() <= span.start + span.length - 16 + 8 + 4);
        for (size_t i = 0; i < span.weights.size(); ++i)
          sums[static_cast<size_t>(span.first) + i] += static_cast<double>(span.weights[i]);
      }
      for (int64_t p = 0; p < size; ++p)
        EXPECT_NEAR(sums[static_cast<size_t>(p)], p >= begin && p < end ? 1 : 0, 1e-6) << size << " " << p;
    }
}

TEST(Windows, WeightsAreTheSameOverAStep) {
  for (const WindowSpan& span : window_spans(0, 400, 400, {96, 16, 8, 4}))
    for (size_t i = 0; i + 1 < span.weights.size(); ++i)
      if ((span.first + static_cast<int64_t>(i) + 1) % 4 != 0) {
        EXPECT_EQ(span.weights[i], span.weights[i + 1]) << span.first + static_cast<int64_t>(i);
      }
}

image::Mask with_missing(int64_t height, int64_t width, const std::vector<image::PixelBox>& boxes) {
  image::Mask mask{{1, 1, height, width}, std::vector<uint8_t>(static_cast<size_t>(height * width), 1)};
  for (const image::PixelBox& box : boxes)
    for (int64_t y = box.y; y < box.y + box.height; ++y)
      for (int64_t x = box.x; x < box.x + box.width; ++x) mask.known[static_cast<size_t>(y * width + x)] = 0;
  return mask;
}

TEST(Windows, MissingPixelsFarApartAreAreasOfTheirOwn) {
  const auto found =
      missing_areas(with_missing(300, 400, {{10, 20, 30, 5}, {300, 200, 7, 90}, {45, 30, 5, 5}}), 40);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(std::tuple(found[0].x, found[0].y, found[0].width, found[0].height), std::tuple(10, 20, 40, 15));
  EXPECT_EQ(std::tuple(found[1].x, found[1].y, found[1].width, found[1].height), std::tuple(300, 200, 7, 90));
  EXPECT_TRUE(missing_areas(with_missing(30, 40, {}), 8).empty());
}

TEST(Windows, APictureComesBackWhole) {
  const Shape shape{1, 2, 230, 310};
  const auto value = [&](int64_t c, int64_t y, int64_t x) {
    return static_cast<float>(c * 1000 + y) + static_cast<float>(x) / 512;
  };
  const WindowGrid grid = window_grid({5, 7, 300, 220}, shape.h, shape.w, {96, 16, 8, 4});
  EXPECT_GT(grid.count(), 6);
  Tensor out(shape, -1);
  const auto solve = [&](const image::PixelBox& seen) {
    Tensor part({1, 2, seen.height, seen.width});
    float* to = part.data();
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t y = 0; y < seen.height; ++y)
        for (int64_t x = 0; x < seen.width; ++x) *to++ = value(c, seen.y + y, seen.x + x);
    return std::optional<Tensor>(std::move(part));
  };
  EXPECT_TRUE(solve_in_windows(grid, solve, [&](const image::PixelBox& at, const Tensor& rows) {
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t y = 0; y < at.height; ++y)
        std::copy_n(rows.data() + (c * at.height + y) * at.width, at.width,
                    out.data() + (c * shape.h + at.y + y) * shape.w + at.x);
  }));
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t y = 0; y < shape.h; ++y)
      for (int64_t x = 0; x < shape.w; ++x) {
        const bool inside = x >= 5 && x < 305 && y >= 7 && y < 227;
        EXPECT_NEAR(out.data()[(c * shape.h + y) * shape.w + x], inside ? value(c, y, x) : -1, 1e-3);
      }
  EXPECT_FALSE(solve_in_windows(
      grid, [](const image::PixelBox&) { return std::optional<Tensor>(); },
      [](const image::PixelBox&, Tensor) {}));
}

class WindowOfAPicture : public testing::TestWithParam<network::Head> {
 protected:
  // The largest difference of missing pixels between the window with this halo and the whole picture.
  double difference(int64_t halo) const {
    const Tensor whole = inpaint({0, 0, kSide, kSide});
    const WindowGrid grid = window_grid(kBox, kSide, kSide, {kSide, halo, 0, step()});
    const WindowSpan &row = grid.rows[0], &column = grid.columns[0];
    const Tensor part = inpaint({column.start, row.start, column.length, row.length});
    double largest = 0;
    for (int64_t y = kBox.y; y < kBox.y + kBox.height; ++y)
      for (int64_t x = kBox.x; x < kBox.x + kBox.width; ++x)
        largest =
            std::max(largest, std::fabs(static_cast<double>(whole.data()[y * kSide + x]) -
                                        part.data()[(y - row.start) * column.length + x - column.start]));
    return largest;
  }
  int64_t halo() const {
    return (network::has_energy(GetParam()) ? 2 : 1) * engine::tile_geometry(spec()).halo;
  }
  int64_t step() const { return engine::tile_geometry(spec()).step; }

 private:
  static constexpr int64_t kSide = 160;
  static constexpr image::PixelBox kBox{70, 64, 11, 14};

  network::Spec spec() const {
    network::Spec out = test::small_spec(network::Network::unet, GetParam());
    out.levels = 2;
    return out;
  }
  Tensor inpaint(const image::PixelBox& seen) const {
    const auto engine =
        engine::make_engine({}, test::lively_parameters(spec(), 3).at_size(seen.height, seen.width));
    Tensor picture({1, 1, seen.height, seen.width});
    image::Mask mask{picture.shape(), {}};
    for (int64_t y = seen.y; y < seen.y + seen.height; ++y)
      for (int64_t x = seen.x; x < seen.x + seen.width; ++x) {
        picture.data()[(y - seen.y) * seen.width + x - seen.x] =
            0.5f + 0.4f * std::sin(0.3f * static_cast<float>(x) + 0.1f * static_cast<float>(y));
        mask.known.push_back(x < kBox.x || x >= kBox.x + kBox.width || y < kBox.y ||
                             y >= kBox.y + kBox.height);
      }
    const std::vector<uint64_t> seeds{5};
    const sample::WindowPlace place{kSide, kSide, seen.y, seen.x};
    return inpaint_annealed({.model = *engine, .seeds = seeds, .place = &place}, picture, mask,
                            sample::make_schedule({sample::Annealing::exponential, 100, 1, 3, 10, 3}))
        .x;
  }
};

TEST_P(WindowOfAPicture, IsFilledInAsTheWholePictureWouldBe) {
  EXPECT_LT(difference(halo()), 1e-4);
  EXPECT_GT(difference(step()), 1e-3);  // the halo is needed
}

INSTANTIATE_TEST_SUITE_P(Heads, WindowOfAPicture,
                         testing::Values(network::Head::squared_residual, network::Head::residual_denoiser));

}  // namespace
}  // namespace mdsm::restore
