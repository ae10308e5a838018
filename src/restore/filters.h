// Classical noise filters, for comparison with the network: a median and a Gaussian blur, and the best of a
// few of each. Edges are mirrored, the edge pixel included (b a | a b c), so that no border is darkened.
#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"

namespace mdsm::restore {

// Every pixel becomes the median of the size x size around it, channel by channel. size: odd, 1 to 31.
Tensor median_filter(ConstTensorView x, int64_t size);
// Weights exp(-r²/(2 width²)), cut off at four widths and summing to 1. width: pixels, 0.05 to 50.
Tensor gaussian_filter(ConstTensorView x, double width);

// What a filter reached, and with which setting.
struct FilterResult {
  double setting = 0;        // size of a median, width of a Gaussian
  std::vector<Tensor> x;     // as given, clamped to [0,1]
  std::vector<double> psnr;  // of every image against the truth
  double mean_psnr = 0;
};

constexpr double kMedianSizes[] = {3, 5};
constexpr double kGaussianWidths[] = {0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 2.5, 3};

// The setting with the highest mean PSNR, one for all images. It is chosen by looking at the truth, which no
// real use of a filter could do: the comparison favours the filters.
// Images may differ in size.
FilterResult best_median(std::span<const Tensor> noisy, std::span<const Tensor> truth);
FilterResult best_gaussian(std::span<const Tensor> noisy, std::span<const Tensor> truth);

}  // namespace mdsm::restore
