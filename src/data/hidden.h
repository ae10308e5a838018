// Which pixels of a picture are hidden: read from a mask image, a box, or drawn by chance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "image/image.h"

namespace mdsm::data {

// 1 = hidden, one value a pixel (H x W); all channels of a pixel are hidden together.
using HiddenPixels = std::vector<uint8_t>;

struct PixelBox {
  int64_t x = 0, y = 0, width = 0, height = 0;
};
PixelBox parse_box(const std::string& text, const std::string& option);  // "x,y,w,h"

// All throw when the result does not fit a picture of width x height; `name` is the picture's, for messages.
// White (128 and above) is hidden, black is known.
HiddenPixels hidden_by_mask(const image::Image& mask, const std::string& mask_name, int64_t width, int64_t height,
                            const std::string& name);
HiddenPixels hidden_by_box(const PixelBox& box, int64_t width, int64_t height, const std::string& name);
// Every pixel with probability `share`; a picture's index names its stream.
HiddenPixels hidden_by_chance(double share, uint64_t seed, uint64_t index, int64_t width, int64_t height);

// Hidden pixels become 0 in all channels, whatever they were.
void blacken(image::Image& picture, const HiddenPixels& hidden);

}  // namespace mdsm::data
