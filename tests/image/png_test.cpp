#include <png.h>

#include <random>

#include "image/image.h"
#include "temporary_folder.h"

namespace mdsm::image {
namespace {

Image seeded_image(int64_t width, int64_t height, int64_t channels) {
  Image image = make_image(width, height, channels);
  std::mt19937 random(static_cast<unsigned>(width * 31 + height * 7 + channels));
  for (auto& pixel : image.pixels) pixel = static_cast<uint8_t>(random());
  return image;
}

// A PNG of any kind by libpng itself; rows as they lie in the file.
struct PngKind {
  int colour_type = PNG_COLOR_TYPE_GRAY, depth = 8, interlace = PNG_INTERLACE_NONE;
  std::vector<png_color> palette = {};
  std::vector<png_byte> palette_alpha = {};
};
void write_kind(const fs::path& path, int width, int height, const PngKind& kind, std::vector<uint8_t> rows) {
  FILE* file = std::fopen(path.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), kind.depth,
               kind.colour_type, kind.interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty())
    png_set_PLTE(png, info, kind.palette.data(), static_cast<int>(kind.palette.size()));
  if (!kind.palette_alpha.empty())
    png_set_tRNS(png, info, kind.palette_alpha.data(), static_cast<int>(kind.palette_alpha.size()), nullptr);
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  for (int y = 0; y < height; ++y)
    pointers.push_back(rows.data() + static_cast<size_t>(y) * rows.size() / static_cast<size_t>(height));
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

// The text of a PNG by libpng itself.
std::map<std::string, std::string> read_text_chunks(const fs::path& path) {
  FILE* file = std::fopen(path.c_str(), "rb");
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_read_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_textp chunks = nullptr;
  const int count = png_get_text(png, info, &chunks, nullptr);
  std::map<std::string, std::string> text;
  for (int i = 0; i < count; ++i) text[chunks[i].key] = chunks[i].text;
  png_destroy_read_struct(&png, &info, nullptr);
  std::fclose(file);
  return text;
}

TEST(Png, GreyAndRgbComeBack) {
  const TemporaryFolder folder;
  for (const int64_t channels : {1, 3})
    for (const int64_t width : {1, 7, 64}) {
      const Image image = seeded_image(width, 5, channels);
      write_png(folder / "x.png", image);
      const Image back = read_image(folder / "x.png");
      EXPECT_EQ(back.width, width);
      EXPECT_EQ(back.height, 5);
      EXPECT_EQ(back.channels, channels);
      EXPECT_EQ(back.pixels, image.pixels);
    }
}

TEST(Png, TextChunksComeBack) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> text = {{"parameters", "{\"seed\": 7}"}, {"Author", "Jürgen Σ"}};
  write_png(folder / "x.png", seeded_image(4, 4, 1), text);
  EXPECT_EQ(read_text_chunks(folder / "x.png"), text);
  EXPECT_ERROR(write_png(folder / "y.png", seeded_image(4, 4, 1), {{"", "v"}}), "keyword");
  EXPECT_ERROR(write_png(folder / "y.png", seeded_image(4, 4, 1), {{std::string(80, 'k'), "v"}}), "keyword");
}

TEST(Png, OtherKindsBecomeEightBits) {
  const TemporaryFolder folder;
  const fs::path path = folder / "x.png";
  write_kind(path, 2, 1, {.colour_type = PNG_COLOR_TYPE_GRAY, .depth = 16}, {0x80, 0x00, 0xff, 0xff});
  EXPECT_EQ(read_image(path).pixels, (std::vector<uint8_t>{0x80, 0xff}));
  write_kind(path, 8, 1, {.colour_type = PNG_COLOR_TYPE_GRAY, .depth = 1}, {0b10100000});
  EXPECT_EQ(read_image(path).pixels, (std::vector<uint8_t>{255, 0, 255, 0, 0, 0, 0, 0}));
  PngKind palette{.colour_type = PNG_COLOR_TYPE_PALETTE, .palette = {{10, 20, 30}, {200, 100, 50}}};
  write_kind(path, 2, 1, palette, {1, 0});
  EXPECT_EQ(read_image(path).pixels, (std::vector<uint8_t>{200, 100, 50, 10, 20, 30}));
  palette.palette_alpha = {255, 0};
  write_kind(path, 2, 1, palette, {1, 0});
  EXPECT_EQ(read_image(path).pixels, (std::vector<uint8_t>{0, 0, 0, 10, 20, 30}));
  write_kind(path, 1, 2, {.colour_type = PNG_COLOR_TYPE_RGB_ALPHA}, {100, 50, 200, 255, 100, 50, 200, 128});
  EXPECT_EQ(read_image(path).pixels, (std::vector<uint8_t>{100, 50, 200, 50, 25, 100}));
  write_kind(path, 2, 1, {.colour_type = PNG_COLOR_TYPE_GRAY_ALPHA}, {100, 0, 80, 255});
  const Image grey = read_image(path);
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.pixels, (std::vector<uint8_t>{0, 80}));
}

TEST(Png, InterlacedFilesAreRead) {
  const TemporaryFolder folder;
  const Image image = seeded_image(13, 11, 3);
  write_kind(folder / "x.png", 13, 11, {.colour_type = PNG_COLOR_TYPE_RGB, .interlace = PNG_INTERLACE_ADAM7},
             image.pixels);
  EXPECT_EQ(read_image(folder / "x.png").pixels, image.pixels);
}

TEST(Png, EveryTruncationIsAnError) {
  const TemporaryFolder folder;
  write_png(folder / "x.png", seeded_image(9, 9, 3), {{"k", "v"}});
  const auto bytes = read_bytes(folder / "x.png");
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(decode_image(std::span(bytes).first(length), "x"), Error) << length;
  EXPECT_NO_THROW(decode_image(bytes, "x"));
}

TEST(Png, DamageNeverCrashes) {
  const TemporaryFolder folder;
  write_png(folder / "x.png", seeded_image(16, 16, 3));
  const auto good = read_bytes(folder / "x.png");
  std::mt19937 random(1);
  int errors = 0;
  for (int i = 0; i < 2000; ++i) {
    auto bytes = good;
    bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
    try {
      decode_image(bytes, "x");
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 1900);  // nearly every byte is under a checksum
}

TEST(Png, AbsurdSizesAreRefused) {
  const TemporaryFolder folder;
  write_png(folder / "x.png", make_image(32768, 1, 1));
  EXPECT_NO_THROW(read_image(folder / "x.png"));
  EXPECT_ERROR(write_png(folder / "y.png", Image{32769, 1, 1, std::vector<uint8_t>(32769)}), "32769x1");
  write_kind(folder / "wide.png", 40000, 1, {}, std::vector<uint8_t>(40000));
  EXPECT_THROW(read_image(folder / "wide.png"), Error);
  EXPECT_ERROR(make_image(32768, 32768, 3), "too many");
}

TEST(Image, OtherFilesAreErrors) {
  const TemporaryFolder folder;
  EXPECT_ERROR(read_image(folder / "none.png"), "no such file");
  EXPECT_ERROR(read_image(folder.path()), "is a folder");
  write_file(folder / "empty.png", "");
  EXPECT_ERROR(read_image(folder / "empty.png"), "empty");
  write_file(folder / "text.png", "hello");
  EXPECT_ERROR(read_image(folder / "text.png"), "neither PNG nor JPEG");
  EXPECT_ERROR(write_png(folder / "no" / "x.png", make_image(1, 1, 1)), "cannot be written");
}

}  // namespace
}  // namespace mdsm::image
