// How much of a map lies in each band of spatial frequency, for every axis of colour: by the discrete cosine
// transform, so that edges do not wrap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace mdsm::eval {

class Spectrum {
 public:
  explicit Spectrum(const Shape& image);

  // Bands that a map of this size has, times channels.
  size_t columns() const { return static_cast<size_t>(shape_.c) * bands_; }
  // Mean squares of the coefficients in each band, channel after channel. Three channels are taken as
  // brightness (their sum) and two differences of colour, orthonormal; others as they are.
  std::vector<double> energies(std::span<const float> map) const;
  // The same without the means of the channels, from coarse to fine; of a single pixel the means.
  size_t detail_columns() const { return static_cast<size_t>(shape_.c) * std::max<size_t>(1, bands_ - 1); }
  std::vector<double> detail(std::span<const float> map) const;

 private:
  Shape shape_;
  size_t bands_ = 0;
  std::vector<double> rows_, columns_;  // cosines, (H x H) and (W x W), orthonormal
  std::vector<size_t> band_;            // (H x W) of each coefficient
  std::vector<double> size_;            // (bands) coefficients in it
};

}  // namespace mdsm::eval
