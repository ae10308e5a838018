#include "sample/sampler.h"

#include <numeric>

#include "core/threads.h"
#include "sample/update.h"

namespace mdsm::sample {

int64_t Samples::gradient_evaluations() const {
  return std::accumulate(evaluations.begin(), evaluations.end(), int64_t{0});
}

RandomStream sample_stream(uint64_t seed, Draw draw, uint64_t step) {
  return {seed, Purpose::sampling, (static_cast<uint64_t>(draw) << 56) | step};
}

Tensor start_images(const Shape& image_shape, std::span<const uint64_t> seeds, double sigma,
                    const WindowPlace* place) {
  Tensor x(image_shape.with_n(static_cast<int64_t>(seeds.size())));
  parallel_for(x.shape().n, rows_per_thread(x.shape().per_image()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto image = x.view().image(i);
      Noise(sample_stream(seeds[static_cast<size_t>(i)], Draw::start), place, image_shape).fill(image);
      for (float& value : image) value = 0.5f + static_cast<float>(sigma) * value;
    }
  });
  return x;
}

}  // namespace mdsm::sample
