#include "data/fingerprint.h"

#include "core/hash.h"

namespace mdsm::data {

std::string fingerprint(const Dataset& images) {
  Fingerprint sum;
  const Shape shape = images.image_shape();
  const int64_t extents[] = {images.size(), shape.c, shape.h, shape.w};
  sum.add(extents, sizeof extents);
  std::vector<float> image(static_cast<size_t>(shape.per_image()));
  std::vector<uint8_t> bytes(image.size());
  for (int64_t i = 0; i < images.size(); ++i) {
    images.read(i, image);
    if (!images.eight_bit()) {
      sum.add(image.data(), image.size() * sizeof(float));
      continue;
    }
    for (size_t k = 0; k < image.size(); ++k) bytes[k] = static_cast<uint8_t>(image[k] * 255.0f + 0.5f);
    sum.add(bytes.data(), bytes.size());
  }
  return sum.text();
}

}  // namespace mdsm::data
