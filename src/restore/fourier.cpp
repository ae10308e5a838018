#include "restore/fourier.h"

#include <cmath>

namespace mdsm::restore {
namespace {
using Complex = Fourier::Complex;
// std::complex's own product looks for infinities, which is slow and not needed here.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
}  // namespace

Fourier::Fourier(int64_t size) : size_(size) {
  for (int64_t k = 0; k < size; ++k)
    roots_.push_back(std::polar(1.0, -2 * M_PI * static_cast<double>(k) / static_cast<double>(size)));
}

// Halves even lengths (Cooley-Tukey) and sums odd ones up directly; image sides are multiples of 8.
void Fourier::line(const Complex* in, int64_t stride, Complex* out, int64_t n, bool inverse) const {
  const auto root = [&](int64_t k) {
    const Complex r = roots_[static_cast<size_t>(k % n * (size_ / n))];
    return inverse ? std::conj(r) : r;
  };
  if (n % 2 == 0) {
    const int64_t half = n / 2;
    line(in, 2 * stride, out, half, inverse);
    line(in + stride, 2 * stride, out + half, half, inverse);
    for (int64_t k = 0; k < half; ++k) {
      const Complex even = out[k], odd = times(root(k), out[k + half]);
      out[k] = even + odd, out[k + half] = even - odd;
    }
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    out[k] = 0;
    for (int64_t j = 0; j < n; ++j) out[k] += times(root(j * k), in[j * stride]);
  }
}

void Fourier::transform(std::vector<Complex>& values, bool inverse) const {
  std::vector<Complex> result(static_cast<size_t>(size_));
  for (int64_t y = 0; y < size_; ++y) {
    Complex* row = values.data() + y * size_;
    line(row, 1, result.data(), size_, inverse);
    for (int64_t x = 0; x < size_; ++x) row[x] = result[static_cast<size_t>(x)];
  }
  for (int64_t x = 0; x < size_; ++x) {
    line(values.data() + x, size_, result.data(), size_, inverse);
    for (int64_t y = 0; y < size_; ++y)
      values[static_cast<size_t>(y * size_ + x)] = result[static_cast<size_t>(y)];
  }
}

std::vector<Complex> Fourier::forward(const float* image) const {
  std::vector<Complex> values(image, image + size_ * size_);
  transform(values, false);
  return values;
}

void Fourier::inverse(std::vector<Complex> spectrum, float* image) const {
  transform(spectrum, true);
  const double scale = 1.0 / static_cast<double>(size_ * size_);
  for (size_t i = 0; i < spectrum.size(); ++i) image[i] = static_cast<float>(spectrum[i].real() * scale);
}

}  // namespace mdsm::restore
