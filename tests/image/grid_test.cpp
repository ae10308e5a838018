#include <limits>

#include "image/image.h"
#include "temporary_folder.h"

namespace mdsm::image {
namespace {

TEST(ToImage, ClampsAndRounds) {
  Tensor x({1, 1, 1, 6});
  const float values[] = {-1.f, 0.f, 0.5f, 1.f, 7.f, std::numeric_limits<float>::quiet_NaN()};
  std::copy_n(values, 6, x.data());
  EXPECT_EQ(to_image(x).pixels, (std::vector<uint8_t>{0, 0, 128, 255, 255, 0}));
}

TEST(ToImage, ThreeChannelsAreRgbOthersTheFirst) {
  Tensor x({1, 3, 1, 2});
  for (int i = 0; i < 6; ++i) x.data()[i] = static_cast<float>(i * 10) / 255.f;
  EXPECT_EQ(to_image(x).pixels, (std::vector<uint8_t>{0, 20, 40, 10, 30, 50}));
  Tensor two({1, 2, 1, 2}, 1.f);
  two.data()[0] = 0;
  EXPECT_EQ(to_image(two).pixels, (std::vector<uint8_t>{0, 255}));
}

TEST(Grid, PlacesImagesRowByRow) {
  Tensor x({3, 1, 1, 1});
  x.data()[0] = 10 / 255.f, x.data()[1] = 20 / 255.f, x.data()[2] = 30 / 255.f;
  const Image plain = grid(x, 2, 1, 0);
  EXPECT_EQ(plain.width, 2);
  EXPECT_EQ(plain.pixels, (std::vector<uint8_t>{10, 20, 30, 255}));
  const Image spaced = grid(x, 2, 2, 1);
  EXPECT_EQ(spaced.width, 5);
  EXPECT_EQ(spaced.height, 5);
  const std::vector<uint8_t> row(spaced.row(1), spaced.row(1) + 5);
  EXPECT_EQ(row, (std::vector<uint8_t>{10, 10, 255, 20, 20}));
  EXPECT_EQ(spaced.row(4)[1], 30);
  EXPECT_EQ(spaced.row(2)[0], 255);
}

TEST(Grid, FewerImagesThanColumnsAndBadArguments) {
  EXPECT_EQ(grid(Tensor({2, 3, 4, 4}), 10, 1, 2).width, 10);
  EXPECT_ERROR(grid(Tensor({0, 1, 4, 4}), 2), "no images");
  EXPECT_ERROR(grid(Tensor({1, 1, 4, 4}), 0), "0 columns");
}

}  // namespace
}  // namespace mdsm::image
