// What happens to the result of a convolution before it is stored: the element-wise work between two
// convolutions, done while the values are at hand instead of in passes of its own.
#pragma once

#include <cstdint>

namespace mdsm::engine::native {

// Applied in this order to the raw value v of each element; every pointer has the result's place and layout.
struct Epilogue {
  enum class Op {
    none,
    elu,    // v = ELU(v)
    slope,  // v = v * ELU'(.), from the ELU's output y
    bend    // v = v * ELU'(.) + delta * ELU''(.) * udot, from y and ydot = ELU'(.) * udot
  };

  const float* bias = nullptr;  // by channel: v += bias
  float* raw = nullptr;         // v is stored here as it is now
  Op op = Op::none;
  const float *y = nullptr, *delta = nullptr, *ydot = nullptr;
  const float* add = nullptr;  // v += add; may be the result's own memory
  bool add_unpooled = false;   // add has half the size, and each of its values is spread over 2x2 pixels
  float* second = nullptr;     // also stored, from the finished v: v * ELU'(second_y), or ELU(v) without it
  const float* second_y = nullptr;
};

// A feature map in the engine's layout: n, channels/block, size, size, block.
struct MapShape {
  int64_t channels, size, block;
};

}  // namespace mdsm::engine::native
