// Which pixels are known: the one mask of the program. Read from an image, a box, or drawn at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "image/image.h"

namespace mdsm::image {

// One mask for every image, or one for each.
struct Mask {
  Shape shape;                 // (1 or N, 1 or C, H, W); 1 means the same for all
  std::vector<uint8_t> known;  // 1 known, 0 missing

  bool at(int64_t n, int64_t c, int64_t y, int64_t x) const;
  double missing_share() const;
  bool operator==(const Mask&) const = default;
};

struct PixelBox {
  int64_t x = 0, y = 0, width = 0, height = 0;
};
PixelBox parse_box(const std::string& text, const std::string& option);  // "x,y,w,h"

struct PixelSize {
  int64_t width = 0, height = 0;
};
PixelSize parse_size(const std::string& text, const std::string& option);  // "WxH"

// Masks (1,1,H,W) of a picture of width x height; `name` is the picture's, for messages. Both throw when they
// do not fit it.
// White (128 and above) is missing, black is known.
Mask mask_of_image(const Image& white_is_missing, const std::string& mask_name, int64_t width, int64_t height,
                   const std::string& name);
// The box is missing.
Mask box_mask(const PixelBox& box, int64_t width, int64_t height, const std::string& name);
// Every pixel is missing with probability `share`; a picture's index names its stream.
Mask random_mask(double share, uint64_t seed, uint64_t index, int64_t width, int64_t height);

}  // namespace mdsm::image
