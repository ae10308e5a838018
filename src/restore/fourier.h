// Discrete Fourier transform of small square images of any size; internal to this folder.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace mdsm::restore {

class Fourier {
 public:
  using Complex = std::complex<double>;
  explicit Fourier(int64_t size);

  std::vector<Complex> forward(const float* image) const;           // size x size
  void inverse(std::vector<Complex> spectrum, float* image) const;  // its real part, divided by size²

 private:
  void transform(std::vector<Complex>& values, bool inverse) const;  // rows, then columns
  void line(const Complex* in, int64_t stride, Complex* out, int64_t n, bool inverse) const;

  int64_t size_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / size)
};

}  // namespace mdsm::restore
