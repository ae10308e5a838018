// The noise of one sample, pixel by pixel. A window of a larger image has the noise that the larger image has
// there, so that windows which overlap agree on it.
#pragma once

#include <span>

#include "core/random.h"
#include "core/tensor.h"

namespace mdsm::sample {

// Where a window lies in a larger image, in pixels from the top left.
struct WindowPlace {
  int64_t height = 0, width = 0;  // of the larger image
  int64_t top = 0, left = 0;
};

class Noise {
 public:
  Noise(RandomStream stream) : stream_(stream) {}  // of a whole image
  // place: must outlive this; nullptr: a whole image. window: shape of the images.
  Noise(RandomStream stream, const WindowPlace* place, const Shape& window)
      : stream_(stream), place_(place), window_(window) {}

  // Standard normal values of the next pixels, in the order C,H,W. Parts of a whole image but the last: of
  // multiples of 64 pixels.
  void fill(std::span<float> out);

 private:
  RandomStream stream_;
  const WindowPlace* place_ = nullptr;
  Shape window_;
  int64_t at_ = 0;  // next pixel of the window
};

}  // namespace mdsm::sample
