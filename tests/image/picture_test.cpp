// Pictures as planes: bytes of files and floats of arrays.
#include "image/picture.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "temporary_folder.h"

namespace mdsm::image {
namespace {

Image some_image(int64_t width, int64_t height, int64_t channels) {
  Image image = make_image(width, height, channels);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * 37 + i / 5);
  return image;
}

TEST(Picture, PlanesAndBack) {
  const Image image = some_image(5, 4, 3);
  const std::vector<uint8_t> planes = planes_of(image);
  for (size_t c = 0; c < 3; ++c)
    for (size_t p = 0; p < 20; ++p) ASSERT_EQ(planes[c * 20 + p], image.pixels[p * 3 + c]);
  EXPECT_EQ(to_picture(image).shape, (Shape{1, 3, 4, 5}));
  EXPECT_EQ(to_image(to_picture(image)).pixels, image.pixels);
}

TEST(Picture, BytesAreResizedAsImagesAre) {
  const Image image = some_image(9, 7, 3);
  EXPECT_EQ(to_image(resize(to_picture(image), 18, 5)).pixels, resize(image, 18, 5).pixels);
}

TEST(Picture, FloatsStayFloats) {
  const Tensor grey({1, 1, 6, 6}, 0.1234f);
  const Picture larger = resize(to_picture(grey), 12, 12);
  for (const float value : std::get<std::vector<float>>(larger.values)) EXPECT_FLOAT_EQ(value, 0.1234f);
}

// So much smaller than its pixels that it is decoded without keeping them first.
TEST(Picture, ALargeFlatOneComesBack) {
  const TemporaryFolder folder;
  Picture picture{{1, 3, 5000, 5000}, std::vector<uint8_t>(3 * 5000 * 5000, 7)};
  std::get<0>(picture.values)[5000 * 4900 + 12] = 200;
  for (const char* name : {"a.png", "a.tif"}) {
    write_picture(folder / name, picture);
    ASSERT_LT(fs::file_size(folder / name), 600'000u);
    const Picture read = read_picture(folder / name);
    EXPECT_TRUE(read.values == picture.values) << name;
  }
}

TEST(Picture, MissingPixelsBecomeBlackInAllChannels) {
  const Mask mask = box_mask({1, 1, 2, 1}, 5, 4, "cat.png");
  Picture bytes = to_picture(make_image(5, 4, 3, 200)), floats = to_picture(Tensor({1, 3, 4, 5}, 0.7f));
  blacken(bytes, mask);
  blacken(floats, mask);
  for (size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(std::get<std::vector<uint8_t>>(bytes.values)[i], mask.known[i % 20] ? 200 : 0);
    EXPECT_EQ(std::get<std::vector<float>>(floats.values)[i], mask.known[i % 20] ? 0.7f : 0.0f);
  }
  EXPECT_THROW(blacken(bytes, box_mask({0, 0, 1, 1}, 4, 5, "cat.png")), Error);
}

}  // namespace
}  // namespace mdsm::image
