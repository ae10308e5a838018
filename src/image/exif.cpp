#include "image/exif.h"

#include <algorithm>

namespace mdsm::image {
namespace {

// Numbers of either byte order; 0 beyond the end.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, bool little) : bytes_(bytes), little_(little) {}
  uint32_t number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= static_cast<uint32_t>(bytes_[at + i]) << (8 * (little_ ? i : size - 1 - i));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool little_;
};

}  // namespace

int exif_orientation(std::span<const std::byte> tiff) {
  constexpr uint32_t kOrientation = 0x0112, kShort = 3, kMagic = 42;
  constexpr size_t kEntry = 12, kMostEntries = 1000;
  if (tiff.size() < 8) return 1;
  const bool little = tiff[0] == std::byte{'I'};
  const Reader in(tiff, little);
  if (in.number(2, 2) != kMagic) return 1;
  const size_t directory = in.number(4, 4);
  const size_t entries = std::min<size_t>(in.number(directory, 2), kMostEntries);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = directory + 2 + i * kEntry;
    if (in.number(at, 2) != kOrientation || in.number(at + 2, 2) != kShort) continue;
    const uint32_t value = in.number(at + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// 2 mirrored, 3 half a turn, 4 upside down; 5 to 8 the same with rows and columns exchanged.
Place upright_place(int orientation, int64_t width, int64_t height, int64_t x, int64_t y) {
  switch (orientation) {
    case 2:
      return {width - 1 - x, y};
    case 3:
      return {width - 1 - x, height - 1 - y};
    case 4:
      return {x, height - 1 - y};
    case 5:
      return {y, x};
    case 6:
      return {height - 1 - y, x};
    case 7:
      return {height - 1 - y, width - 1 - x};
    case 8:
      return {y, width - 1 - x};
    default:
      return {x, y};
  }
}

Image upright(Image image, int orientation) {
  if (orientation == 1) return image;
  Image out = swaps_sides(orientation) ? make_image(image.height, image.width, image.channels)
                                       : make_image(image.width, image.height, image.channels);
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width; ++x) {
      const Place to = upright_place(orientation, image.width, image.height, x, y);
      std::copy_n(image.row(y) + x * image.channels, image.channels, out.row(to.y) + to.x * image.channels);
    }
  return out;
}

}  // namespace mdsm::image
