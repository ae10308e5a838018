// Masks of square images for tests.
#pragma once

#include <span>

#include "image/mask.h"

namespace mdsm::test {

inline image::Mask box_mask(int64_t size, const image::PixelBox& missing) {
  return image::box_mask(missing, size, size, "the images");
}

// One mask for each seed.
inline image::Mask random_masks(int64_t size, double share, std::span<const uint64_t> seeds) {
  image::Mask all{{static_cast<int64_t>(seeds.size()), 1, size, size}, {}};
  for (const uint64_t seed : seeds) {
    const image::Mask one = image::random_mask(share, seed, 0, size, size);
    all.known.insert(all.known.end(), one.known.begin(), one.known.end());
  }
  return all;
}

}  // namespace mdsm::test
