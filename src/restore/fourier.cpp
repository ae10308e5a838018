#include "restore/fourier.h"

#include <algorithm>
#include <cmath>

namespace mdsm::restore {
namespace {
using Complex = Fourier::Complex;
// std::complex's own product looks for infinities, which is slow and not needed here.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

std::vector<Complex> roots(int64_t n) {
  std::vector<Complex> found;
  for (int64_t k = 0; k < n; ++k)
    found.push_back(std::polar(1.0, -2 * M_PI * static_cast<double>(k) / static_cast<double>(n)));
  return found;
}

// n values, `roots` of a multiple of n. Halves even lengths (Cooley-Tukey) and sums odd ones up directly.
void line(const std::vector<Complex>& roots, const Complex* in, int64_t stride, Complex* out, int64_t n,
          bool inverse) {
  const auto root = [&](int64_t k) {
    const Complex r = roots[static_cast<size_t>(k % n * (static_cast<int64_t>(roots.size()) / n))];
    return inverse ? std::conj(r) : r;
  };
  if (n % 2 == 0) {
    const int64_t half = n / 2;
    line(roots, in, 2 * stride, out, half, inverse);
    line(roots, in + stride, 2 * stride, out + half, half, inverse);
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

}  // namespace

Fourier::Fourier(int64_t height, int64_t width) : row_roots_(roots(width)), column_roots_(roots(height)) {}

void Fourier::transform(std::vector<Complex>& values, bool inverse) const {
  const auto width = static_cast<int64_t>(row_roots_.size()),
             height = static_cast<int64_t>(column_roots_.size());
  std::vector<Complex> result(static_cast<size_t>(std::max(width, height)));
  for (int64_t y = 0; y < height; ++y) {
    line(row_roots_, values.data() + y * width, 1, result.data(), width, inverse);
    std::copy_n(result.begin(), width, values.begin() + y * width);
  }
  for (int64_t x = 0; x < width; ++x) {
    line(column_roots_, values.data() + x, width, result.data(), height, inverse);
    for (int64_t y = 0; y < height; ++y)
      values[static_cast<size_t>(y * width + x)] = result[static_cast<size_t>(y)];
  }
}

std::vector<Complex> Fourier::forward(const float* image) const {
  std::vector<Complex> values(image, image + row_roots_.size() * column_roots_.size());
  transform(values, false);
  return values;
}

void Fourier::inverse(std::vector<Complex> spectrum, float* image) const {
  transform(spectrum, true);
  const double scale = 1.0 / static_cast<double>(spectrum.size());
  for (size_t i = 0; i < spectrum.size(); ++i) image[i] = static_cast<float>(spectrum[i].real() * scale);
}

}  // namespace mdsm::restore
