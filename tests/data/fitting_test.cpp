// Pictures to the network and back.
#include "data/fitting.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "data/hidden.h"

namespace mdsm::data {
namespace {

image::Image picture(int64_t width, int64_t height, int64_t channels = 1) {
  image::Image image = image::make_image(width, height, channels);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * 37 + i / 5);
  return image;
}

constexpr Shape kNetwork{1, 1, 16, 16};

std::string message(const image::Image& image, const DataOptions& options, const Shape& network = kNetwork) {
  try {
    const Fitting fitting(image, network, options, "cat.png");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(Fitting, WithoutResizingNothingIsLost) {
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{16, 16}, {9, 12}, {16, 1}, {3, 16}}) {
    const image::Image image = picture(width, height);
    const Fitting fitting(image, kNetwork, {}, "cat.png");
    const std::vector<float> fitted = fitting.fit(image);
    ASSERT_EQ(fitted.size(), 256u);
    EXPECT_EQ(fitting.put_back(fitted, image).pixels, image.pixels) << width << "x" << height;
  }
}

TEST(Fitting, ACropLeavesTheRestAlone) {
  const image::Image image = picture(30, 20, 3);
  DataOptions options;
  options.crop = 10;
  const Fitting fitting(image, {1, 3, 16, 16}, options, "cat.png");
  const std::vector<float> white(3 * 256, 1.0f);
  const image::Image back = fitting.put_back(white, image);
  for (int64_t y = 0; y < 20; ++y)
    for (int64_t x = 0; x < 30; ++x) {
      const bool inside = x >= 10 && x < 20 && y >= 5 && y < 15;
      for (int64_t c = 0; c < 3; ++c)
        ASSERT_EQ(back.row(y)[3 * x + c], inside ? 255 : image.row(y)[3 * x + c]) << x << "," << y;
    }
  EXPECT_EQ(fitting.text(), "30x20, cropped to 10x10, padded to 16x16");
}

TEST(Fitting, LargePicturesAreResizedAndKeepTheirSize) {
  image::Image image = image::make_image(64, 48, 1, 200);
  const Fitting fitting(image, kNetwork, {}, "cat.png");
  const std::vector<float> fitted = fitting.fit(image);
  for (const float value : fitted) ASSERT_FLOAT_EQ(value, 200.0f / 255);
  const image::Image back = fitting.put_back(fitted, image);
  EXPECT_EQ(back.pixels, image.pixels);
  EXPECT_EQ(fitting.text(), "64x48, resized to 16x16");
}

TEST(Fitting, ColoursFollowTheNetwork) {
  const image::Image image = picture(16, 16, 3);
  DataOptions options;
  options.colour = "grey";
  const Fitting fitting(image, kNetwork, options, "cat.png");
  EXPECT_EQ(fitting.put_back(fitting.fit(image), image).pixels, image::to_grey(image).pixels);
  EXPECT_NE(message(image, {}).find("cat.png: 3 channels, but the model takes 1; use --colour grey"),
            std::string::npos);
  EXPECT_NE(message(picture(16, 16), {}, {1, 3, 16, 16}).find("--colour rgb"), std::string::npos);
}

TEST(Fitting, OnePictureIsNotTakenApart) {
  DataOptions options;
  options.colour = "apart";
  for (const int64_t channels : {1, 3}) {
    const image::Image image = picture(16, 16, channels);
    EXPECT_THROW(Fitting(image, {1, channels, 16, 16}, options, "cat.png").fit(image), Error) << channels;
  }
}

TEST(Fitting, OptionsThatLeadElsewhereAreRefused) {
  DataOptions options;
  options.crop = 17;
  EXPECT_NE(message(picture(16, 16), options).find("cannot be cropped to 17"), std::string::npos);
  options = {};
  options.resize = 20;
  EXPECT_NE(message(picture(16, 16), options).find("20x20 pixels, but the model takes 16x16"),
            std::string::npos);
  options = {};
  options.pad = 0;
  EXPECT_NE(message(picture(9, 9), options).find("9x9 pixels, but the model takes 16x16"), std::string::npos);
  options.pad = 8;
  EXPECT_NE(message(picture(16, 16), options).find("cannot be padded to 8"), std::string::npos);
}

// Whatever the hidden pixels hold, a network's pixel that counts as known is the same.
TEST(Fitting, KnownPixelsDoNotDependOnHiddenOnes) {
  for (const auto& [width, height, crop] : {std::tuple<int64_t, int64_t, int64_t>{16, 16, 0},
                                            {40, 24, 0},
                                            {17, 17, 0},
                                            {30, 30, 20},
                                            {7, 9, 0},
                                            {300, 33, 0}}) {
    image::Image one = picture(width, height), other = one;
    DataOptions options;
    options.crop = crop;
    const Fitting fitting(one, kNetwork, options, "cat.png");
    const HiddenPixels hidden =
        hidden_by_box({width / 2 - 2, height / 2 - 2, 3, 4}, width, height, "cat.png");
    for (size_t i = 0; i < hidden.size(); ++i)
      if (hidden[i]) other.pixels[i] = static_cast<uint8_t>(~other.pixels[i]);
    const std::vector<uint8_t> fitted = fitting.fit_hidden(hidden);
    const std::vector<float> a = fitting.fit(one), b = fitting.fit(other);
    int64_t hidden_count = 0;
    for (size_t i = 0; i < fitted.size(); ++i) {
      hidden_count += fitted[i];
      if (!fitted[i]) {
        ASSERT_EQ(a[i], b[i]) << width << "x" << height << " at " << i;
      }
    }
    EXPECT_GT(hidden_count, 0);
    EXPECT_LT(hidden_count, 256);
    EXPECT_NE(a, b);
    blacken(one, hidden);
    blacken(other, hidden);
    EXPECT_EQ(fitting.fit(one), fitting.fit(other));
    EXPECT_TRUE(fitting.covers(hidden));
    HiddenPixels corner(hidden.size());
    corner[0] = 1;
    EXPECT_EQ(fitting.covers(corner), crop == 0);
  }
}

TEST(Hidden, BoxesAndMasks) {
  const HiddenPixels hidden = hidden_by_box(parse_box("1,2,3,1", "--box"), 5, 4, "cat.png");
  for (size_t i = 0; i < hidden.size(); ++i) EXPECT_EQ(hidden[i], i >= 11 && i < 14 ? 1 : 0);
  image::Image mask = image::make_image(5, 4, 3);
  for (size_t i = 11; i < 14; ++i)
    std::fill_n(mask.pixels.begin() + static_cast<int64_t>(3 * i), 3, uint8_t{255});
  EXPECT_EQ(hidden_by_mask(mask, "mask.png", 5, 4, "cat.png"), hidden);
  EXPECT_THROW(hidden_by_mask(mask, "mask.png", 4, 5, "cat.png"), Error);
  EXPECT_THROW(hidden_by_mask(image::make_image(5, 4, 1), "mask.png", 5, 4, "cat.png"), Error);
  for (const char* text : {"", "1,2,3", "1,2,3,4,5", "a,0,1,1", "-1,0,1,1", "0,0,0,1", "1,1,1,1 "})
    EXPECT_THROW(parse_box(text, "--box"), Error) << text;
  for (const PixelBox& box : {PixelBox{3, 0, 3, 1}, {0, 3, 1, 2}, {5, 0, 1, 1}, {0, 0, INT64_MAX, 1}})
    EXPECT_THROW(hidden_by_box(box, 5, 4, "cat.png"), Error);
}

TEST(Hidden, ChanceHidesTheShareAndRepeatsItself) {
  const HiddenPixels one = hidden_by_chance(0.3, 7, 0, 200, 100);
  EXPECT_EQ(one, hidden_by_chance(0.3, 7, 0, 200, 100));
  EXPECT_NE(one, hidden_by_chance(0.3, 7, 1, 200, 100));
  EXPECT_NE(one, hidden_by_chance(0.3, 8, 0, 200, 100));
  const auto count = static_cast<double>(std::ranges::count(one, 1));
  EXPECT_NEAR(count / 20000, 0.3, 0.015);  // 4.6 standard deviations
  const HiddenPixels all = hidden_by_chance(1, 0, 0, 9, 9);
  EXPECT_EQ(std::ranges::count(all, 1), 81);
}

}  // namespace
}  // namespace mdsm::data
