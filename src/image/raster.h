// Fitting of plain pixel arrays (height x width x channels, interleaved), shared by 8-bit images and by data
// sets that hold floats or more than three channels as separate planes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mdsm::image {

template <class T>
struct Raster {
  T* data = nullptr;
  int64_t width = 0, height = 0, channels = 1;
};

// Puts the middle of `from` on the middle of `to`: a crop where `to` is smaller, a pad where it is larger
// (what lies outside `from` keeps its values). An odd difference leaves the extra pixel right and below.
template <class T>
void copy_centred(Raster<const T> from, Raster<T> to) {
  const int64_t c = from.channels;
  const int64_t width = std::min(from.width, to.width), height = std::min(from.height, to.height);
  const int64_t from_x = (from.width - width) / 2, from_y = (from.height - height) / 2;
  const int64_t to_x = (to.width - width) / 2, to_y = (to.height - height) / 2;
  for (int64_t y = 0; y < height; ++y)
    std::copy_n(from.data + ((from_y + y) * from.width + from_x) * c, width * c,
                to.data + ((to_y + y) * to.width + to_x) * c);
}

// Triangle filter, widened by the scale when shrinking. The 8-bit version rounds after each of the two passes
// with 22-bit weights, as Pillow's BILINEAR does, so that figures measured on either agree.
void resize_raster(Raster<const uint8_t> from, Raster<uint8_t> to);
void resize_raster(Raster<const float> from, Raster<float> to);

}  // namespace mdsm::image
