#include "data/summary.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"

namespace mdsm::data {
namespace {

struct ChannelSums {
  double sum = 0, squares = 0;
  float low = 1, high = 0;
};

ChannelSums sums_of(std::span<const float> values) {
  ChannelSums sums;
  for (const float value : values) {
    sums.sum += value;
    sums.squares += double{value} * value;
    sums.low = std::min(sums.low, value);
    sums.high = std::max(sums.high, value);
  }
  return sums;
}

}  // namespace

DatasetSummary summarise(const Dataset& dataset) {
  DatasetSummary summary;
  summary.count = dataset.size();
  summary.image = dataset.image_shape();
  const int64_t channels = summary.image.c, plane = summary.image.h * summary.image.w;
  // Sums per image and channel, added up in order afterwards: the figures do not depend on the threads.
  std::vector<ChannelSums> sums(static_cast<size_t>(summary.count * channels));
  parallel_for(summary.count, 256, [&](int64_t begin, int64_t end) {
    std::vector<float> image(static_cast<size_t>(summary.image.per_image()));
    for (int64_t i = begin; i < end; ++i) {
      dataset.read(i, image);
      for (int64_t c = 0; c < channels; ++c)
        sums[static_cast<size_t>(i * channels + c)] =
            sums_of(std::span(image).subspan(static_cast<size_t>(c * plane), static_cast<size_t>(plane)));
    }
  });
  summary.low = 1;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (size_t i = static_cast<size_t>(c); i < sums.size(); i += static_cast<size_t>(channels)) {
      sum += sums[i].sum;
      squares += sums[i].squares;
      summary.low = std::min(summary.low, sums[i].low);
      summary.high = std::max(summary.high, sums[i].high);
    }
    const double values = static_cast<double>(summary.count * plane), mean = sum / values;
    summary.mean.push_back(mean);
    summary.deviation.push_back(std::sqrt(std::max(0.0, squares / values - mean * mean)));
  }
  for (int64_t i = 0; i < summary.count; ++i)
    if (const int label = dataset.label(i); label >= 0) ++summary.labels[label];
  return summary;
}

image::Image contact_sheet(const Dataset& dataset, int64_t columns, int64_t rows, int64_t scale) {
  const int64_t shown = std::min(columns * rows, dataset.size());
  Tensor images(dataset.image_shape().with_n(shown));
  for (int64_t i = 0; i < shown; ++i) dataset.read(i * dataset.size() / shown, images.view().image(i));
  return image::grid(images, columns, scale);
}

}  // namespace mdsm::data
