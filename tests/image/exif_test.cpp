#include "image/exif.h"

#include <gtest/gtest.h>

#include <string>

#include "image/picture.h"
#include "temporary_folder.h"

namespace mdsm::image {
namespace {

std::string number(uint32_t value, size_t bytes, bool little) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * (little ? i : bytes - 1 - i)));
  return out;
}

// EXIF data with one other entry before the orientation.
std::string exif(int orientation, bool little) {
  std::string out = little ? "II" : "MM";
  out += number(42, 2, little) + number(8, 4, little) + number(2, 2, little);
  out +=
      number(0x010f, 2, little) + number(2, 2, little) + number(4, 4, little) + "abc" + std::string(1, '\0');
  out += number(0x0112, 2, little) + number(3, 2, little) + number(1, 4, little) +
         number(static_cast<uint32_t>(orientation), 2, little) + number(0, 2, little);
  return out + number(0, 4, little);
}

int orientation_of(const std::string& tiff) { return exif_orientation(std::as_bytes(std::span(tiff))); }

TEST(Exif, OrientationInBothByteOrders) {
  for (int value = 1; value <= 8; ++value)
    for (const bool little : {true, false}) EXPECT_EQ(orientation_of(exif(value, little)), value);
  for (const int wrong : {0, 9, 4711}) EXPECT_EQ(orientation_of(exif(wrong, true)), 1);
  const std::string good = exif(6, true);
  for (size_t size = 0; size < good.size() - 6; ++size)
    EXPECT_EQ(orientation_of(good.substr(0, size)), 1) << size;
  EXPECT_EQ(orientation_of("II*\0\xff\xff\xff\xff"), 1);
}

// The picture "ab / cd" as a camera stores it in each orientation, turned upright again: by the definition of
// the standard, where the first row of the file is at the top, top, bottom, bottom, left, right, right, left
// of the scene.
TEST(Exif, EveryOrientationTurnsUpright) {
  const char* const stored[] = {"abcd", "badc", "dcba", "cdab", "acbd", "bdac", "dbca", "cadb"};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Image image = make_image(2, 2, 1);
    std::copy_n(stored[orientation - 1], 4, image.pixels.begin());
    const Image up = upright(image, orientation);
    EXPECT_EQ(std::string(up.pixels.begin(), up.pixels.end()), "abcd") << orientation;
  }
  const Image turned = upright(make_image(5, 3, 3), 6);
  EXPECT_EQ(turned.width, 3);
  EXPECT_EQ(turned.height, 5);
}

// 16 bits: written, read, and written again without a change.
TEST(Picture, SixteenBitsStaySixteen) {
  const TemporaryFolder folder;
  Picture picture{{1, 3, 4, 5}, {}, {16}};
  std::vector<float> values;
  for (int i = 0; i < 60; ++i) values.push_back(static_cast<float>(i * 1093 % 65536) / 65535.0f);
  picture.values = values;
  write_picture(folder / "a.png", picture);
  const Picture again = read_picture(folder / "a.png");
  EXPECT_EQ(again.kept.bits, 16);
  EXPECT_EQ(again.shape, picture.shape);
  EXPECT_EQ(std::get<std::vector<float>>(again.values), values);
  write_picture(folder / "b.png", again);
  EXPECT_EQ(read_text(folder / "a.png"), read_text(folder / "b.png"));
  // As 8 bits where 8 bits are wanted.
  const Image small = read_image(folder / "a.png");
  EXPECT_EQ(small.pixels[0], to_byte(values[0]));
  EXPECT_NEAR(small.pixels[3], values[1] * 255, 0.51);
  Picture bytes = to_picture(make_image(3, 2, 1, 77));
  EXPECT_EQ(bytes.kept.bits, 8);
  write_picture(folder / "c.png", bytes);
  EXPECT_EQ(std::get<std::vector<uint8_t>>(read_picture(folder / "c.png").values),
            std::vector<uint8_t>(6, 77));
}

}  // namespace
}  // namespace mdsm::image
