// Random changes of training images that leave them images of the same kind. Each is drawn from the seed and
// the image's place in the stream of training images, so that a resumed run sees the same.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "core/tensor.h"

namespace mdsm::data {

struct AugmentOptions {
  bool flip = false;      // left to right, every other image
  int64_t shift = 0;      // up to so many pixels each way
  double zoom = 0;        // a part of the image, smaller by up to this share, fills it: a random crop
  double rotate = 0;      // up to so many degrees each way
  double brightness = 0;  // values times 1 - brightness to 1 + brightness

  bool any() const { return flip || moves() || brightness > 0; }
  bool moves() const { return shift > 0 || zoom > 0 || rotate > 0; }
};

// --shift, --zoom, --rotate and --brightness; --flip is one of the data options.
void declare_augment_options(OptionSet& options, AugmentOptions& augment);

// image: (C,H,W), changed in place. place: in the endless stream of training images. What lies beyond an edge
// is the edge's own pixel.
void augment(std::span<float> image, const Shape& shape, const AugmentOptions& options, uint64_t seed,
             uint64_t place);

}  // namespace mdsm::data
