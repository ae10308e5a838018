// Crop, pad, resize and colour. The resize reference below is written from the definition of the filter, as a
// sum over all input pixels in double precision, and shares nothing with the implementation.
#include <cmath>
#include <random>

#include "image/image.h"
#include "image/raster.h"
#include "temporary_folder.h"

namespace mdsm::image {
namespace {

double triangle_mean(const std::vector<double>& values, int64_t out_size, int64_t i) {
  const double scale = static_cast<double>(values.size()) / static_cast<double>(out_size);
  const double centre = (static_cast<double>(i) + 0.5) * scale, reach = std::max(scale, 1.0);
  double sum = 0, total = 0;
  for (size_t x = 0; x < values.size(); ++x) {
    const double weight = std::max(0.0, 1 - std::abs(static_cast<double>(x) + 0.5 - centre) / reach);
    sum += weight * values[x];
    total += weight;
  }
  return sum / total;
}

std::vector<double> reference(const Image& image, int64_t width, int64_t height) {
  std::vector<double> out(static_cast<size_t>(width * height * image.channels));
  for (int64_t c = 0; c < image.channels; ++c)
    for (int64_t x = 0; x < width; ++x) {
      std::vector<double> column;
      for (int64_t y = 0; y < image.height; ++y) {
        std::vector<double> row;
        for (int64_t k = 0; k < image.width; ++k) row.push_back(image.row(y)[k * image.channels + c]);
        column.push_back(triangle_mean(row, width, x));
      }
      for (int64_t y = 0; y < height; ++y)
        out[static_cast<size_t>((y * width + x) * image.channels + c)] = triangle_mean(column, height, y);
    }
  return out;
}

Image random_image(int64_t width, int64_t height, int64_t channels) {
  Image image = make_image(width, height, channels);
  std::mt19937 random(5);
  for (auto& pixel : image.pixels) pixel = static_cast<uint8_t>(random());
  return image;
}

TEST(Resize, AgreesWithTheDefinition) {
  const int64_t sizes[][4] = {
      {20, 30, 7, 11}, {13, 9, 29, 31}, {70, 70, 32, 32}, {16, 40, 40, 16}, {5, 5, 1, 1}};
  for (const auto& s : sizes)
    for (const int64_t channels : {1, 3}) {
      const Image image = random_image(s[0], s[1], channels), out = resize(image, s[2], s[3]);
      ASSERT_EQ(out.width, s[2]);
      ASSERT_EQ(out.height, s[3]);
      const auto expected = reference(image, s[2], s[3]);
      for (size_t i = 0; i < expected.size(); ++i)  // two roundings to 8 bits
        ASSERT_NEAR(out.pixels[i], expected[i], 1.01) << s[0] << "x" << s[1] << " at " << i;
    }
}

TEST(Resize, FloatsAgreeExactly) {
  const Image image = random_image(37, 23, 1);
  const std::vector<float> from(image.pixels.begin(), image.pixels.end());
  std::vector<float> to(16 * 12);
  resize_raster(Raster<const float>{from.data(), 37, 23, 1}, Raster<float>{to.data(), 16, 12, 1});
  const auto expected = reference(image, 16, 12);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(to[i], expected[i], 1e-4);
}

// Worked out by hand. Halving weighs 1 3 3 1 (3 3 1 at the border); each pass rounds to 8 bits.
TEST(Resize, KnownValues) {
  Image row = make_image(8, 1, 1);
  row.pixels = {0, 0, 0, 255, 255, 0, 0, 0};
  EXPECT_EQ(resize(row, 4, 1).pixels, (std::vector<uint8_t>{0, 128, 128, 0}));
  row = make_image(2, 1, 1);
  row.pixels = {0, 100};
  EXPECT_EQ(resize(row, 4, 1).pixels, (std::vector<uint8_t>{0, 25, 75, 100}));
}

TEST(Resize, SameSizeAndConstantImagesStay) {
  const Image image = random_image(15, 12, 3);
  EXPECT_EQ(resize(image, 15, 12).pixels, image.pixels);
  const Image flat = make_image(50, 41, 1, 255);
  for (const uint8_t pixel : resize(flat, 7, 100).pixels) ASSERT_EQ(pixel, 255);
  EXPECT_ERROR(resize(image, 0, 5), "0x5");
}

// A crop where the result is smaller, a pad where it is larger.
Image centred(const Image& image, int64_t width, int64_t height, uint8_t fill = 0) {
  Image out = make_image(width, height, image.channels, fill);
  copy_centred<uint8_t>({image.pixels.data(), image.width, image.height, image.channels},
                        {out.pixels.data(), width, height, image.channels});
  return out;
}

TEST(Fit, CropAndPadTakeTheMiddle) {
  Image image = make_image(4, 3, 1);
  for (size_t i = 0; i < 12; ++i) image.pixels[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(centred(image, 2, 1).pixels, (std::vector<uint8_t>{5, 6}));
  EXPECT_EQ(centred(image, 1, 2).pixels, (std::vector<uint8_t>{1, 5}));  // odd rest: right and below
  const Image padded = centred(image, 6, 5, 9);
  EXPECT_EQ(padded.row(0)[0], 9);
  EXPECT_EQ(padded.row(1)[0], 9);
  EXPECT_EQ(padded.row(1)[1], 0);
  EXPECT_EQ(padded.row(3)[4], 11);
  EXPECT_EQ(centred(padded, 4, 3).pixels, image.pixels);
}

TEST(Fit, Colours) {
  Image rgb = make_image(2, 1, 3);
  rgb.pixels = {255, 0, 0, 10, 10, 10};
  EXPECT_EQ(to_grey(rgb).pixels, (std::vector<uint8_t>{76, 10}));
  EXPECT_EQ(to_rgb(to_grey(rgb)).pixels, (std::vector<uint8_t>{76, 76, 76, 10, 10, 10}));
  EXPECT_EQ(luma(255, 255, 255), 255);
}

}  // namespace
}  // namespace mdsm::image
