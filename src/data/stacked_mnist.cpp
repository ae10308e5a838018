// Stacked MNIST: image i shows three digits drawn at random, one per channel, and counts as class 100a+10b+c.
// 1,000 modes whose coverage can be counted.
#include <algorithm>

#include "core/random.h"
#include "core/threads.h"
#include "data/idx.h"

namespace mdsm::data {
namespace {

RawImages read_stacked_mnist(const SourceRequest& request) {
  SourceRequest whole = request;
  whole.options.limit = 0;  // the digits are drawn from all of the set
  const RawImages digits = read_idx_unfitted(whole);
  const auto& pixels = std::get<std::vector<uint8_t>>(digits.values);
  const int64_t plane = digits.shape.per_image();

  RawImages raw;
  raw.shape = {request.limited(digits.shape.n), 3, digits.shape.h, digits.shape.w};
  raw.from = digits.from;
  raw.part = digits.part;
  std::vector<uint8_t> values(static_cast<size_t>(raw.shape.count()));
  if (!digits.labels.empty()) raw.labels.assign(static_cast<size_t>(raw.shape.n), 0);
  parallel_for(raw.shape.n, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      RandomStream stream(request.options.seed, Purpose::stacked_digits, static_cast<uint64_t>(i));
      for (int64_t c = 0; c < 3; ++c) {
        const uint64_t digit = stream.below(static_cast<uint64_t>(digits.shape.n));
        std::copy_n(pixels.data() + static_cast<int64_t>(digit) * plane, plane,
                    values.data() + (i * 3 + c) * plane);
        if (raw.labels.empty()) continue;
        int32_t& label = raw.labels[static_cast<size_t>(i)];
        label = 10 * label + digits.labels[digit];
      }
    }
  });
  raw.values = std::move(values);
  return fit(std::move(raw), request.options);
}

}  // namespace

Source stacked_mnist_source() {
  return {.name = "stacked-mnist",
          .what = "three random MNIST digits as three channels, 1,000 classes",
          .how_to_get = "get mnist",
          .folder = "mnist",
          .only_by_name = true,
          .recognises = is_idx_folder,
          .read = read_stacked_mnist};
}

}  // namespace mdsm::data
