#include <cstdio>
//
#include <jpeglib.h>

#include <cstdlib>
#include <random>

#include "image/image.h"
#include "temporary_folder.h"

namespace mdsm::image {
namespace {

std::vector<std::byte> encode_jpeg(const std::vector<uint8_t>& pixels, unsigned width, unsigned height,
                                   J_COLOR_SPACE space, bool progressive = false) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &memory, &size);
  encoder.image_width = width;
  encoder.image_height = height;
  encoder.input_components = space == JCS_GRAYSCALE ? 1 : space == JCS_CMYK ? 4 : 3;
  encoder.in_color_space = space;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, 95, TRUE);
  if (progressive) jpeg_simple_progression(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  const size_t row_size = pixels.size() / height;
  for (unsigned y = 0; y < height; ++y) {
    auto* row = const_cast<JSAMPLE*>(pixels.data() + y * row_size);
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  jpeg_destroy_compress(&encoder);
  const auto* begin = reinterpret_cast<const std::byte*>(memory);
  std::vector<std::byte> file(begin, begin + size);
  std::free(memory);
  return file;
}

std::vector<uint8_t> ramp(unsigned width, unsigned height, unsigned channels) {
  std::vector<uint8_t> pixels;
  for (unsigned y = 0; y < height; ++y)
    for (unsigned x = 0; x < width; ++x)
      for (unsigned c = 0; c < channels; ++c)
        pixels.push_back(static_cast<uint8_t>(40 + 3 * x + 2 * y + 20 * c));
  return pixels;
}

void expect_near(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, int tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Jpeg, GreyStaysGreyAndRgbStaysRgb) {
  for (const bool progressive : {false, true}) {
    const auto grey = ramp(24, 17, 1), rgb = ramp(24, 17, 3);
    const Image a = decode_image(encode_jpeg(grey, 24, 17, JCS_GRAYSCALE, progressive), "grey");
    EXPECT_EQ(a.channels, 1);
    EXPECT_EQ(a.width, 24);
    EXPECT_EQ(a.height, 17);
    expect_near(a.pixels, grey, 4);
    const Image b = decode_image(encode_jpeg(rgb, 24, 17, JCS_RGB, progressive), "rgb");
    EXPECT_EQ(b.channels, 3);
    expect_near(b.pixels, rgb, 8);
  }
}

TEST(Jpeg, CmykIsAClearError) {
  const auto file = encode_jpeg(ramp(8, 8, 4), 8, 8, JCS_CMYK);
  EXPECT_ERROR(decode_image(file, "x.jpg"), "CMYK");
}

TEST(Jpeg, EveryTruncationIsAnError) {
  for (const bool progressive : {false, true}) {
    const auto file = encode_jpeg(ramp(32, 32, 3), 32, 32, JCS_RGB, progressive);
    for (size_t length = 0; length + 2 < file.size(); ++length)
      EXPECT_THROW(decode_image(std::span(file).first(length), "x"), Error)
          << length << " of " << file.size();
  }
}

TEST(Jpeg, DamageNeverCrashes) {
  std::vector<uint8_t> noise(32 * 32 * 3);
  std::mt19937 random(1);
  for (auto& value : noise) value = static_cast<uint8_t>(random());
  const auto good = encode_jpeg(noise, 32, 32, JCS_RGB);
  int errors = 0;
  for (int i = 0; i < 2000; ++i) {
    auto bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    try {
      decode_image(bytes, "x");
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 300);
}

TEST(Jpeg, AbsurdSizesAreRefused) {
  auto file = encode_jpeg(ramp(8, 8, 3), 8, 8, JCS_RGB);
  for (size_t i = 0; i + 9 < file.size(); ++i)  // the frame header: FF C0, length, precision, height, width
    if (file[i] == std::byte{0xff} && file[i + 1] == std::byte{0xc0})
      file[i + 5] = file[i + 7] = std::byte{0xff};
  EXPECT_ERROR(decode_image(file, "x.jpg"), "too many");
}

}  // namespace
}  // namespace mdsm::image
