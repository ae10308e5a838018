// How a camera was held: the orientation that EXIF data tells, and images turned upright. Internal to
// src/image.
#pragma once

#include <cstddef>
#include <span>

#include "image/image.h"

namespace mdsm::image {

// 1 (as it is) to 8, from the TIFF structure that EXIF data is, as in a PNG's eXIf chunk or behind "Exif\0\0"
// of a JPEG marker. Anything that is not understood is 1.
int exif_orientation(std::span<const std::byte> tiff);

// The pixel of an image of this size, upright, that pixel (x, y) of the file becomes.
struct Place {
  int64_t x = 0, y = 0;
};
Place upright_place(int orientation, int64_t width, int64_t height, int64_t x, int64_t y);
constexpr bool swaps_sides(int orientation) { return orientation >= 5; }

Image upright(Image image, int orientation);

}  // namespace mdsm::image
