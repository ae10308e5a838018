// How feature maps lie in memory inside the native engine: n, C/block, H, W, block, with channels rounded up
// to whole blocks. Padding channels have zero weights and biases, so they stay exactly zero through every
// pass.
#pragma once

#include <cstdint>

#include "network/spec.h"

namespace mdsm::engine::native {

struct Layout {
  int64_t block = 8;  // 16 where AVX-512 kernels fit the width, else 8

  int64_t padded(int64_t channels) const { return (channels + block - 1) / block * block; }
  // Floats of n feature maps.
  int64_t count(int64_t n, int64_t channels, int64_t size) const {
    return n * padded(channels) * size * size;
  }
};

Layout choose_layout(const network::Spec& spec);

}  // namespace mdsm::engine::native
