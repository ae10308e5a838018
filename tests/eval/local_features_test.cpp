#include "eval/local_features.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mdsm::eval {
namespace {

TEST(LocalFeatures, AreLogarithmsOfMeansOverAWindow) {
  const int64_t h = 20, w = 33;
  const LocalFeatures local({1, 3, h, w}, 2);
  EXPECT_EQ(local.window(), 3);
  std::vector<float> maps(static_cast<size_t>(2 * h * w));
  for (size_t i = 0; i < maps.size(); ++i) maps[i] = static_cast<float>(i * 37 % 101);
  const FeatureTable table = local.of(maps);
  ASSERT_EQ(table.rows(), h * w);
  ASSERT_EQ(table.columns, 2);
  for (const int64_t level : {0, 1})
    for (const auto& [y, x] : {std::pair<int64_t, int64_t>{0, 0}, {7, 11}, {h - 1, w - 1}, {0, 5}}) {
      double sum = 0, count = 0;
      for (int64_t j = std::max<int64_t>(0, y - 1); j <= std::min(h - 1, y + 1); ++j)
        for (int64_t i = std::max<int64_t>(0, x - 1); i <= std::min(w - 1, x + 1); ++i) {
          sum += static_cast<double>(maps[static_cast<size_t>((level * h + j) * w + i)]);
          count += 1;
        }
      EXPECT_NEAR(table.row(y * w + x)[static_cast<size_t>(level)], std::log(sum / count), 1e-6)
          << y << " " << x;
    }
}

}  // namespace
}  // namespace mdsm::eval
