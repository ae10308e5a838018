#include "sample/noise.h"

#include <algorithm>

namespace mdsm::sample {

void Noise::fill(std::span<float> out) {
  if (!place_) return stream_.fill_normal(out);
  while (!out.empty()) {
    const int64_t column = at_ % window_.w, row = at_ / window_.w % window_.h,
                  channel = at_ / (window_.w * window_.h);
    const int64_t count = std::min(window_.w - column, static_cast<int64_t>(out.size()));
    const int64_t first =
        (channel * place_->height + place_->top + row) * place_->width + place_->left + column;
    stream_.normals_at(static_cast<uint64_t>(first), out.first(static_cast<size_t>(count)));
    out = out.subspan(static_cast<size_t>(count));
    at_ += count;
  }
}

}  // namespace mdsm::sample
