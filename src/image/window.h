// Parts of large pictures, and results put back there.
#pragma once

#include "image/picture.h"

namespace mdsm::image {

// A black picture of another size and with other channels; of the same kind, and keeps what the picture
// keeps.
Picture blank(const Picture& like, const Shape& shape);
// What a picture keeps besides its colours stays behind.
Picture cut(const Picture& picture, const PixelBox& box);
Mask cut(const Mask& mask, const PixelBox& box);  // (1,1,H,W)
// values: (1,C,H,W) of the box, clamped to [0,1]. only: nothing but its missing pixels change.
void paste(ConstTensorView values, const PixelBox& box, Picture& picture, const Mask* only = nullptr);

}  // namespace mdsm::image
