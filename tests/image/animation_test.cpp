// The file is taken apart by the rules of the format: chunk by chunk, checksums, one numbering for fcTL and
// fdAT, and every frame decompressed and compared. libpng reads the first frame as an ordinary image.
#include "image/animation.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "core/error.h"
#include "temporary_folder.h"

namespace mdsm::image {
namespace {

using Bytes = std::vector<uint8_t>;

struct Chunk {
  std::string kind;
  Bytes body;
};

uint32_t number(const Bytes& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | bytes.at(at + i);
  return value;
}

std::vector<Chunk> chunks(const fs::path& path) {
  const auto raw = read_bytes(path);
  Bytes file;
  for (const std::byte b : raw) file.push_back(static_cast<uint8_t>(b));
  std::vector<Chunk> found;
  for (size_t at = 8; at < file.size();) {
    const uint32_t length = number(file, at);
    const auto first = file.begin() + static_cast<int64_t>(at);
    Chunk chunk{{first + 4, first + 8}, {first + 8, first + 8 + length}};
    EXPECT_EQ(crc32(0, &file.at(at + 4), length + 4), number(file, at + 8 + length)) << chunk.kind;
    found.push_back(std::move(chunk));
    at += 12 + length;
  }
  return found;
}

// Undoes the two filters that the writer uses.
Bytes pixels(const Bytes& compressed, const Image& like) {
  const auto stride = static_cast<size_t>(like.width * like.channels);
  Bytes rows((stride + 1) * static_cast<size_t>(like.height)), out;
  uLongf length = rows.size();
  EXPECT_EQ(uncompress(rows.data(), &length, compressed.data(), compressed.size()), Z_OK);
  EXPECT_EQ(length, rows.size());
  for (size_t y = 0; y < static_cast<size_t>(like.height); ++y) {
    const uint8_t filter = rows[y * (stride + 1)];
    EXPECT_TRUE(filter == 0 || filter == 2);
    for (size_t i = 0; i < stride; ++i) {
      const uint8_t above = filter == 2 ? out[(y - 1) * stride + i] : uint8_t{0};
      out.push_back(static_cast<uint8_t>(rows[y * (stride + 1) + 1 + i] + above));
    }
  }
  return out;
}

Image frame(int64_t width, int64_t height, int64_t channels, int seed) {
  Image image = make_image(width, height, channels);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(i * 31 + static_cast<size_t>(seed) * 57);
  return image;
}

void check_read_back(int64_t channels) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.png";
  const std::vector<Image> frames = {frame(7, 5, channels, 0), frame(7, 5, channels, 1),
                                     frame(7, 5, channels, 2)};
  write_animation(path, frames, 40, 900);
  EXPECT_EQ(read_image(path).pixels, frames[0].pixels);

  const auto found = chunks(path);
  const std::vector<std::string> kinds = {"IHDR", "acTL", "fcTL", "IDAT", "fcTL",
                                          "fdAT", "fcTL", "fdAT", "IEND"};
  ASSERT_EQ(found.size(), kinds.size());
  uint32_t next = 0;
  size_t shown = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [kind, body] = found[i];
    ASSERT_EQ(kind, kinds[i]);
    if (kind == "acTL") {
      EXPECT_EQ(number(body, 0), 3u);
    }
    if (kind == "fcTL" || kind == "fdAT") {
      EXPECT_EQ(number(body, 0), next++);
    }
    if (kind == "fcTL") {
      ASSERT_EQ(body.size(), 26u);
      EXPECT_EQ(number(body, 4), 7u);
      EXPECT_EQ(number(body, 8), 5u);
      EXPECT_EQ(body[20] << 8 | body[21], shown == 2 ? 900 : 40);
      EXPECT_EQ(body[22] << 8 | body[23], 1000);
    }
    if (kind == "IDAT") {
      EXPECT_EQ(pixels(body, frames[0]), frames[shown++].pixels);
    }
    if (kind == "fdAT") {
      EXPECT_EQ(pixels({body.begin() + 4, body.end()}, frames[0]), frames[shown++].pixels);
    }
  }
  EXPECT_EQ(shown, 3u);
}

TEST(Animation, GreyIsReadBack) { check_read_back(1); }
TEST(Animation, ColourIsReadBack) { check_read_back(3); }

TEST(Animation, FramesMustBeAlike) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.png";
  EXPECT_THROW(write_animation(path, {}), Error);
  const std::vector<Image> sizes = {frame(7, 5, 1, 0), frame(5, 7, 1, 0)},
                           colours = {frame(7, 5, 1, 0), frame(7, 5, 3, 0)};
  EXPECT_THROW(write_animation(path, sizes), Error);
  EXPECT_THROW(write_animation(path, colours), Error);
  EXPECT_THROW(write_animation(path, std::span(sizes).first(1), 0), Error);
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace mdsm::image
