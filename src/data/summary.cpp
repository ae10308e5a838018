#include "data/summary.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "data/memory_dataset.h"

namespace mdsm::data {
namespace {

struct ChannelSums {
  double sum = 0, squares = 0;
  float low = 1, high = 0;
};

void add(ChannelSums& sums, std::span<const float> values) {
  for (const float value : values) {
    sums.sum += value;
    sums.squares += double{value} * value;
    sums.low = std::min(sums.low, value);
    sums.high = std::max(sums.high, value);
  }
}

// Images in memory are taken in pieces: as floats, a large one has four times its size.
void add_images(const Dataset& dataset, int64_t begin, int64_t end, std::span<ChannelSums> sums) {
  constexpr int64_t kPiece = 1 << 16;
  const auto* memory = dynamic_cast<const MemoryDataset*>(&dataset);
  const Shape shape = dataset.image_shape();
  const int64_t plane = shape.h * shape.w, piece = memory ? std::min(plane, kPiece) : plane;
  std::vector<float> values(static_cast<size_t>(memory ? piece : shape.per_image()));
  for (int64_t i = begin; i < end; ++i) {
    if (!memory) dataset.read(i, values);
    for (int64_t c = 0; c < shape.c; ++c)
      for (int64_t at = 0; at < plane; at += piece) {
        const int64_t first = c * plane + at;
        const std::span part = std::span(values).subspan(static_cast<size_t>(memory ? 0 : first),
                                                         static_cast<size_t>(std::min(piece, plane - at)));
        if (memory) memory->read_part(i, first, part);
        add(sums[static_cast<size_t>(i * shape.c + c)], part);
      }
  }
}

}  // namespace

DatasetSummary summarise(const Dataset& dataset) {
  DatasetSummary summary;
  summary.count = dataset.size();
  summary.image = dataset.image_shape();
  const int64_t channels = summary.image.c, plane = summary.image.h * summary.image.w;
  // Sums per image and channel, added up in order afterwards: the figures do not depend on the threads.
  std::vector<ChannelSums> sums(static_cast<size_t>(summary.count * channels));
  parallel_for(summary.count, 256,
               [&](int64_t begin, int64_t end) { add_images(dataset, begin, end, sums); });
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
