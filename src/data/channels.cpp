#include "data/channels.h"

#include <algorithm>

namespace mdsm::data {

void Channels::read(int64_t index, std::span<float> out) const {
  std::vector<float> image(static_cast<size_t>(shape_.count()));
  images_->read(index / shape_.c, image);
  const int64_t plane = shape_.h * shape_.w;
  std::copy_n(image.begin() + index % shape_.c * plane, plane, out.begin());
}

}  // namespace mdsm::data
