#include "restore/filters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/error.h"
#include "core/mean.h"
#include "core/threads.h"
#include "restore/denoise.h"
#include "sample/checks.h"

namespace mdsm::restore {
namespace {

// Index inside 0 .. n-1 that position i stands for, however far outside it lies.
int64_t mirrored(int64_t i, int64_t n) {
  const int64_t period = 2 * n, at = ((i % period) + period) % period;
  return at < n ? at : period - 1 - at;
}

// The pixels that each of n positions looks at: (n x (2 radius + 1)).
std::vector<int64_t> neighbours(int64_t n, int64_t radius) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = -radius; k <= radius; ++k) out.push_back(mirrored(i + k, n));
  return out;
}

// Calls body(from, to) for every channel of every image, H x W values each.
template <class Body>
void for_planes(ConstTensorView x, Tensor& out, const Body& body) {
  const int64_t plane = x.shape.h * x.shape.w;
  parallel_for(x.shape.n * x.shape.c, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(x.data + i * plane, out.data() + i * plane);
  });
}

void median_plane(const float* from, float* to, const Shape& s, int64_t size, std::span<const int64_t> rows,
                  std::span<const int64_t> columns) {
  std::vector<float> window;
  for (int64_t y = 0; y < s.h; ++y)
    for (int64_t x = 0; x < s.w; ++x) {
      window.clear();
      for (const int64_t row : rows.subspan(static_cast<size_t>(y * size), static_cast<size_t>(size)))
        for (const int64_t column : columns.subspan(static_cast<size_t>(x * size), static_cast<size_t>(size)))
          window.push_back(from[row * s.w + column]);
      const auto middle = window.begin() + static_cast<int64_t>(window.size() / 2);
      std::nth_element(window.begin(), middle, window.end());
      to[y * s.w + x] = *middle;
    }
}

// to(y, x) = sum over k of weights[k] from(y, columns[x, k]), then transposed, so that calling it twice
// filters both directions.
void blur_rows(const float* from, float* to, int64_t height, int64_t width, std::span<const double> weights,
               std::span<const int64_t> columns) {
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      double sum = 0;
      for (size_t k = 0; k < weights.size(); ++k)
        sum += weights[k] * from[y * width + columns[static_cast<size_t>(x) * weights.size() + k]];
      to[x * height + y] = static_cast<float>(sum);
    }
}

std::vector<double> gaussian_weights(double width) {
  const auto radius = static_cast<int64_t>(std::ceil(4 * width));
  std::vector<double> weights;
  double sum = 0;
  for (int64_t k = -radius; k <= radius; ++k) {
    const double r = static_cast<double>(k) / width;
    weights.push_back(std::exp(-r * r / 2));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

template <class Filter>
FilterResult best(std::span<const double> settings, std::span<const Tensor> noisy,
                  std::span<const Tensor> truth, const Filter& filter) {
  FilterResult found;
  found.mean_psnr = -std::numeric_limits<double>::infinity();
  for (const double setting : settings) {
    FilterResult one{.setting = setting, .x = {}, .psnr = {}, .mean_psnr = 0};
    for (size_t i = 0; i < noisy.size(); ++i) {
      Tensor x = filter(noisy[i], setting);
      for (float& value : x.values()) value = std::clamp(value, 0.0f, 1.0f);
      const auto reached = psnr(x, truth[i]);
      one.psnr.insert(one.psnr.end(), reached.begin(), reached.end());
      one.x.push_back(std::move(x));
    }
    one.mean_psnr = mean(one.psnr);
    if (one.mean_psnr > found.mean_psnr) found = std::move(one);
  }
  return found;
}

}  // namespace

Tensor median_filter(ConstTensorView x, int64_t size) {
  if (size < 1 || size > 31 || size % 2 == 0)
    fail_usage("use an odd number up to 31", "a median of {0} x {0} pixels", size);
  const auto rows = neighbours(x.shape.h, size / 2), columns = neighbours(x.shape.w, size / 2);
  Tensor out(x.shape);
  for_planes(x, out,
             [&](const float* from, float* to) { median_plane(from, to, x.shape, size, rows, columns); });
  return out;
}

Tensor gaussian_filter(ConstTensorView x, double width) {
  sample::check_range(width, 0.05, 50, "width of the Gaussian filter");
  const auto weights = gaussian_weights(width);
  const auto radius = static_cast<int64_t>(weights.size() / 2);
  const auto rows = neighbours(x.shape.h, radius), columns = neighbours(x.shape.w, radius);
  Tensor out(x.shape);
  for_planes(x, out, [&](const float* from, float* to) {
    std::vector<float> turned(static_cast<size_t>(x.shape.h * x.shape.w));
    blur_rows(from, turned.data(), x.shape.h, x.shape.w, weights, columns);
    blur_rows(turned.data(), to, x.shape.w, x.shape.h, weights, rows);
  });
  return out;
}

FilterResult best_median(std::span<const Tensor> noisy, std::span<const Tensor> truth) {
  return best(kMedianSizes, noisy, truth,
              [](ConstTensorView x, double size) { return median_filter(x, static_cast<int64_t>(size)); });
}

FilterResult best_gaussian(std::span<const Tensor> noisy, std::span<const Tensor> truth) {
  return best(kGaussianWidths, noisy, truth, gaussian_filter);
}

}  // namespace mdsm::restore
