#include "eval/spectrum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

namespace mdsm::eval {
namespace {

// Upper ends of the bands, in half periods over an image of 32 pixels; the first is the mean alone.
constexpr std::array<double, 8> kEnds = {0.5, 2.5, 5, 9, 14, 20, 28, std::numeric_limits<double>::infinity()};

const double kThird = 1 / std::sqrt(3.0), kHalf = 1 / std::sqrt(2.0), kSixth = 1 / std::sqrt(6.0);
const double kColours[3][3] = {{kThird, kThird, kThird}, {kHalf, -kHalf, 0}, {kSixth, kSixth, -2 * kSixth}};

std::vector<double> cosines(int64_t n) {
  std::vector<double> table;
  const double size = static_cast<double>(n);
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < n; ++i)
      table.push_back(
          std::sqrt((k ? 2 : 1) / size) *
          std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(k) / size));
  return table;
}

}  // namespace

Spectrum::Spectrum(const Shape& image)
    : shape_(image.with_n(1)), rows_(cosines(image.h)), columns_(cosines(image.w)) {
  std::map<size_t, size_t> found;  // of kEnds, those that have coefficients
  std::vector<size_t> ends;
  for (int64_t y = 0; y < image.h; ++y)
    for (int64_t x = 0; x < image.w; ++x) {
      const double frequency = 32 * std::hypot(static_cast<double>(y) / static_cast<double>(image.h),
                                               static_cast<double>(x) / static_cast<double>(image.w));
      ends.push_back(static_cast<size_t>(std::ranges::lower_bound(kEnds, frequency) - kEnds.begin()));
      found[ends.back()] = 0;
    }
  for (auto& [end, place] : found) place = bands_++;
  size_.resize(bands_);
  for (const size_t end : ends) band_.push_back(found[end]), size_[found[end]] += 1;
}

std::vector<double> Spectrum::energies(std::span<const float> map) const {
  const auto h = static_cast<size_t>(shape_.h), w = static_cast<size_t>(shape_.w),
             c = static_cast<size_t>(shape_.c);
  std::vector<double> out(columns()), plane(h * w), half(h * w);
  for (size_t channel = 0; channel < c; ++channel) {
    for (size_t i = 0; i < h * w; ++i) {
      plane[i] = c == 3 ? 0 : map[channel * h * w + i];
      for (size_t k = 0; c == 3 && k < 3; ++k) plane[i] += kColours[channel][k] * map[k * h * w + i];
    }
    std::ranges::fill(half, 0);
    for (size_t k = 0; k < h; ++k)
      for (size_t y = 0; y < h; ++y)
        for (size_t x = 0; x < w; ++x) half[k * w + x] += rows_[k * h + y] * plane[y * w + x];
    for (size_t k = 0; k < h; ++k)
      for (size_t j = 0; j < w; ++j) {
        double sum = 0;
        for (size_t x = 0; x < w; ++x) sum += half[k * w + x] * columns_[j * w + x];
        const size_t band = band_[k * w + j];
        out[channel * bands_ + band] += sum * sum / size_[band];
      }
  }
  return out;
}

std::vector<double> Spectrum::detail(std::span<const float> map) const {
  const std::vector<double> all = energies(map);
  std::vector<double> out;
  for (size_t i = 0; i < all.size(); ++i)
    if (i % bands_ != 0 || bands_ == 1) out.push_back(all[i]);
  return out;
}

}  // namespace mdsm::eval
