// Pictures to the network and back.
#include "data/fitting.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"

namespace mdsm::data {
namespace {

image::Image some_image(int64_t width, int64_t height, int64_t channels = 1) {
  image::Image image = image::make_image(width, height, channels);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * 37 + i / 5);
  return image;
}

image::Picture picture(int64_t width, int64_t height, int64_t channels = 1) {
  return image::to_picture(some_image(width, height, channels));
}

constexpr Shape kNetwork{1, 1, 16, 16};

std::string message(const image::Picture& image, const DataOptions& options,
                    const Shape& network = kNetwork) {
  try {
    const Fitting fitting(image.shape, network, options, "cat.png");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(Fitting, WithoutResizingNothingIsLost) {
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{16, 16}, {9, 12}, {16, 1}, {3, 16}}) {
    const image::Picture image = picture(width, height);
    const Fitting fitting(image.shape, kNetwork, {}, "cat.png");
    const std::vector<float> fitted = fitting.fit(image);
    ASSERT_EQ(fitted.size(), 256u);
    EXPECT_EQ(image::to_image(fitting.put_back(fitted, image)).pixels, some_image(width, height).pixels)
        << width << "x" << height;
  }
}

TEST(Fitting, ACropLeavesTheRestAlone) {
  const image::Image image = some_image(30, 20, 3);
  const image::Picture given = image::to_picture(image);
  DataOptions options;
  options.crop = 10;
  const Fitting fitting(given.shape, {1, 3, 16, 16}, options, "cat.png");
  const std::vector<float> white(3 * 256, 1.0f);
  const image::Image back = image::to_image(fitting.put_back(white, given));
  for (int64_t y = 0; y < 20; ++y)
    for (int64_t x = 0; x < 30; ++x) {
      const bool inside = x >= 10 && x < 20 && y >= 5 && y < 15;
      for (int64_t c = 0; c < 3; ++c)
        ASSERT_EQ(back.row(y)[3 * x + c], inside ? 255 : image.row(y)[3 * x + c]) << x << "," << y;
    }
  EXPECT_EQ(fitting.text(), "30x20, cropped to 10x10, padded to 16x16");
}

TEST(Fitting, LargePicturesAreResizedAndKeepTheirSize) {
  const image::Image image = image::make_image(64, 48, 1, 200);
  const image::Picture given = image::to_picture(image);
  const Fitting fitting(given.shape, kNetwork, {}, "cat.png");
  const std::vector<float> fitted = fitting.fit(given);
  for (const float value : fitted) ASSERT_FLOAT_EQ(value, 200.0f / 255);
  const image::Image back = image::to_image(fitting.put_back(fitted, given));
  EXPECT_EQ(back.pixels, image.pixels);
  EXPECT_EQ(fitting.text(), "64x48, resized to 16x16");
}

TEST(Fitting, ColoursFollowTheNetwork) {
  const image::Picture image = picture(16, 16, 3);
  DataOptions options;
  options.colour = Colour::grey;
  const Fitting fitting(image.shape, kNetwork, options, "cat.png");
  EXPECT_EQ(image::to_image(fitting.put_back(fitting.fit(image), image)).pixels,
            image::to_grey(some_image(16, 16, 3)).pixels);
  EXPECT_NE(message(image, {}).find("cat.png: 3 channels, but the model takes 1; use --colour grey"),
            std::string::npos);
  EXPECT_NE(message(picture(16, 16), {}, {1, 3, 16, 16}).find("--colour rgb"), std::string::npos);
}

TEST(Fitting, OnePictureIsNotTakenApart) {
  DataOptions options;
  options.colour = Colour::apart;
  for (const int64_t channels : {1, 3}) {
    const image::Picture image = picture(16, 16, channels);
    EXPECT_THROW(Fitting(image.shape, {1, channels, 16, 16}, options, "cat.png").fit(image), Error)
        << channels;
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

// Whatever the missing pixels hold, a network's pixel that counts as known is the same.
TEST(Fitting, KnownPixelsDoNotDependOnMissingOnes) {
  for (const auto& [width, height, crop] : {std::tuple<int64_t, int64_t, int64_t>{16, 16, 0},
                                            {40, 24, 0},
                                            {17, 17, 0},
                                            {30, 30, 20},
                                            {7, 9, 0},
                                            {300, 33, 0}}) {
    image::Picture one = picture(width, height), other = one;
    DataOptions options;
    options.crop = crop;
    const Fitting fitting(one.shape, kNetwork, options, "cat.png");
    const image::Mask mask = image::box_mask({width / 2 - 2, height / 2 - 2, 3, 4}, width, height, "cat.png");
    auto& pixels = std::get<std::vector<uint8_t>>(other.values);
    for (size_t i = 0; i < pixels.size(); ++i)
      if (!mask.known[i]) pixels[i] = static_cast<uint8_t>(~pixels[i]);
    const image::Mask fitted = fitting.fit(mask);
    const std::vector<float> a = fitting.fit(one), b = fitting.fit(other);
    ASSERT_EQ(fitted.shape, kNetwork);
    for (size_t i = 0; i < fitted.known.size(); ++i) {
      if (fitted.known[i]) {
        ASSERT_EQ(a[i], b[i]) << width << "x" << height << " at " << i;
      }
    }
    EXPECT_GT(fitted.missing_share(), 0);
    EXPECT_LT(fitted.missing_share(), 1);
    EXPECT_NE(a, b);
    image::blacken(one, mask);
    image::blacken(other, mask);
    EXPECT_EQ(fitting.fit(one), fitting.fit(other));
    EXPECT_TRUE(fitting.covers(mask));
    EXPECT_EQ(fitting.covers(image::box_mask({0, 0, 1, 1}, width, height, "cat.png")), crop == 0);
  }
}

TEST(Fitting, FloatsAreNotRounded) {
  Tensor values({1, 1, 12, 16});
  for (size_t i = 0; i < values.values().size(); ++i)
    values.values()[i] = (static_cast<float>(i) + 0.37f) / 255.0f;
  const image::Picture image = image::to_picture(values);
  const Fitting fitting(image.shape, kNetwork, {}, "x.npy");
  const std::vector<float> fitted = fitting.fit(image);  // padded by two rows above and below
  for (size_t i = 0; i < 12 * 16; ++i) ASSERT_EQ(fitted[i + 2 * 16], values.values()[i]);
  EXPECT_EQ(image::to_image(fitting.coloured(image)).pixels, image::to_image(values).pixels);
}

// What the network saw of a plane goes back to where it came from; the rest is not a number.
TEST(Fitting, PlanesArePlacedInThePicture) {
  const image::Picture image = picture(30, 20);
  DataOptions options;
  options.crop = 10;
  const Fitting fitting(image.shape, kNetwork, options, "cat.png");
  std::vector<float> plane(256);
  for (size_t i = 0; i < plane.size(); ++i) plane[i] = static_cast<float>(i);
  const std::vector<float> placed = fitting.placed(plane);
  for (int64_t y = 0; y < 20; ++y)
    for (int64_t x = 0; x < 30; ++x) {
      const float value = placed[static_cast<size_t>(y * 30 + x)];
      if (x >= 10 && x < 20 && y >= 5 && y < 15)  // padded by 3 pixels on every side
        ASSERT_EQ(value, static_cast<float>((y - 5 + 3) * 16 + x - 10 + 3));
      else
        ASSERT_TRUE(std::isnan(value));
    }
}

// A picture of 16 bits comes back with every value it had.
TEST(Fitting, SixteenBitsStay) {
  image::Picture image{{1, 1, 16, 16}, {}, {16}};
  std::vector<float> values;
  for (int i = 0; i < 256; ++i) values.push_back(static_cast<float>(i * 257) / 65535.0f);
  image.values = values;
  const Fitting fitting(image.shape, kNetwork, {}, "cat.png");
  const image::Picture back = fitting.put_back(fitting.fit(image), image);
  EXPECT_EQ(back.kept.bits, 16);
  EXPECT_EQ(std::get<std::vector<float>>(back.values), values);
}

}  // namespace
}  // namespace mdsm::data
