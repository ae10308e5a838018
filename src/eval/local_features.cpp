#include "eval/local_features.h"

#include <algorithm>
#include <cmath>

#include "eval/least_energy.h"

namespace mdsm::eval {
namespace {

// Sums of all values above and to the left, ((H + 1) x (W + 1)).
std::vector<double> corner_sums(std::span<const float> map, int64_t height, int64_t width) {
  std::vector<double> sums(static_cast<size_t>((height + 1) * (width + 1)));
  for (int64_t y = 0; y < height; ++y) {
    double row = 0;
    for (int64_t x = 0; x < width; ++x) {
      row += static_cast<double>(map[static_cast<size_t>(y * width + x)]);
      sums[static_cast<size_t>((y + 1) * (width + 1) + x + 1)] =
          sums[static_cast<size_t>(y * (width + 1) + x + 1)] + row;
    }
  }
  return sums;
}

}  // namespace

LocalFeatures::LocalFeatures(const Shape& image, size_t levels)
    : height_(image.h),
      width_(image.w),
      window_(2 * std::max<int64_t>(1, std::min(image.h, image.w) / 16) + 1),
      levels_(levels) {}

FeatureTable LocalFeatures::of(std::span<const float> maps) const {
  const auto plane = static_cast<size_t>(height_ * width_);
  FeatureTable table{static_cast<int64_t>(levels_), std::vector<double>(plane * levels_)};
  for (size_t level = 0; level < levels_; ++level) {
    const auto sums = corner_sums(maps.subspan(level * plane, plane), height_, width_);
    const auto at = [&](int64_t y, int64_t x) { return sums[static_cast<size_t>(y * (width_ + 1) + x)]; };
    for (int64_t y = 0; y < height_; ++y)
      for (int64_t x = 0; x < width_; ++x) {
        const int64_t top = std::max<int64_t>(0, y - window_ / 2),
                      left = std::max<int64_t>(0, x - window_ / 2);
        const int64_t bottom = std::min(height_, y + window_ / 2 + 1),
                      right = std::min(width_, x + window_ / 2 + 1);
        const double sum = at(bottom, right) - at(top, right) - at(bottom, left) + at(top, left);
        table.values[static_cast<size_t>(y * width_ + x) * levels_ + level] = std::log(
            std::max(0.0, sum) / static_cast<double>((bottom - top) * (right - left)) + kLeastEnergy);
      }
  }
  return table;
}

}  // namespace mdsm::eval
