// How feature maps lie in memory inside the native engine: n, C/block, H, W, block, with channels rounded up
// to whole blocks. Padding channels have zero weights and biases, so they stay exactly zero through every
// pass.
#pragma once

#include <cstdint>

namespace mdsm::engine::native {

struct Layout {
  int64_t block = 8;  // 16 where AVX-512 kernels fit the width, else 8

  int64_t padded(int64_t channels) const { return (channels + block - 1) / block * block; }
};

// width: channels of the first convolution.
Layout choose_layout(int64_t width);

}  // namespace mdsm::engine::native
