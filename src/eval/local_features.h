// Features of the surroundings of every pixel: how large the denoising residual is there, at each noise
// level. A density of them tells where an image is strange, and not only that it is.
#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"
#include "eval/mixture.h"

namespace mdsm::eval {

class LocalFeatures {
 public:
  LocalFeatures(const Shape& image, size_t levels);

  // maps: squares of the residual, (levels,H,W). A row for every pixel, a column for every level: natural
  // logarithms of means over a window around the pixel; at the edges, over what lies inside.
  FeatureTable of(std::span<const float> maps) const;
  int64_t window() const { return window_; }  // side, in pixels

 private:
  int64_t height_, width_, window_;
  size_t levels_;
};

}  // namespace mdsm::eval
