// Discrete Fourier transform of images of any size; internal to this folder.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace mdsm::restore {

class Fourier {
 public:
  using Complex = std::complex<double>;
  Fourier(int64_t height, int64_t width);

  std::vector<Complex> forward(const float* image) const;           // height x width
  void inverse(std::vector<Complex> spectrum, float* image) const;  // its real part, divided by the pixels

 private:
  void transform(std::vector<Complex>& values, bool inverse) const;  // rows, then columns

  std::vector<Complex> row_roots_, column_roots_;  // exp(-2 pi i k / n) for lines of n = width and height
};

}  // namespace mdsm::restore
