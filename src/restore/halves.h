// Pictures with missing pixels at half their size, and back: a first guess for completing large pictures.
#pragma once

#include "core/tensor.h"
#include "image/mask.h"

namespace mdsm::restore {

// How often images have to be halved until their shorter side is as near as can be to `trained` pixels, by
// the ratio of the two.
int64_t halvings(const Shape& image, int64_t trained);

struct Halved {
  Tensor images;     // (N,C,(H+1)/2,(W+1)/2)
  image::Mask mask;  // of that size
};
// Every 2x2 pixels become the mean of those that are known. It is known where at least half of them are, and
// 0.5 elsewhere. Missing pixels are never read.
Halved halved(ConstTensorView images, const image::Mask& mask);

// Known pixels of images; in place of the missing ones what lies there in `half`, enlarged (bilinear). images
// may be a window of the picture that half is half of: top, left say where.
Tensor filled_from_half(ConstTensorView images, const image::Mask& mask, ConstTensorView half,
                        int64_t top = 0, int64_t left = 0);

}  // namespace mdsm::restore
