// The weights of a convolution on matrix units, and their gradient.
#pragma once

#include "core/tensor.h"
#include "engine/native/tile_kernels.h"

namespace mdsm::engine::native {

// The weights of one convolution as tiles, made from the plain ones at the first use after a change.
class TileWeights {
 public:
  // Channels as they are, without padding; kernel 1 or 3.
  TileWeights(int64_t out, int64_t in, int64_t kernel, bool pooled);

  void set(const float* plain);  // (out, in, kernel, kernel); must stay until the next set()
  const Bfloat16* forward();
  const Bfloat16* backward(int phase);  // phase 0 .. 3 of a pooled one: 2 (y % 2) + x % 2 of its pixels
  // Adds `count` gradients in the order of multiply_gradient, one behind the other, to the plain one.
  void add_gradient(const float* sums, int64_t count, float* plain) const;

 private:
  int64_t taps() const { return pooled_ ? 4 : kernel_ * kernel_; }  // of a phase
  int64_t phases() const { return pooled_ ? 4 : 1; }
  void pack();
  void pack_block(int64_t first_out, int64_t first_in);  // of 32 x 32 channels

  int64_t out_, in_, kernel_;
  bool pooled_;
  const float* plain_ = nullptr;
  FloatBuffer forward_, backward_[4];  // of Bfloat16: rows of tiles have to be aligned
  bool ready_ = false;
};

}  // namespace mdsm::engine::native
