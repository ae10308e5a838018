// What happens to the result of a convolution before it is stored: the element-wise work between two
// convolutions, done while the values are at hand instead of in passes of its own.
//
// Functions here are always inlined: kernels are compiled for several instruction sets, and the linker must
// not keep a copy made for a newer CPU for everybody.
#pragma once

#include <cstdint>

namespace mdsm::engine::native {

using Bfloat16 = uint16_t;  // the upper half of a float

enum class EpilogueOp {
  none,
  elu,         // v = ELU(v)
  slope,       // v = v * ELU'(.), from the ELU's output y
  bend,        // v = v * ELU'(.) + delta * ELU''(.) * udot, from y and ydot = ELU'(.) * udot
  silu_slope,  // v = v * SiLU'(y), from the SiLU's input y
  silu_bend    // v = v * SiLU'(y) + delta * SiLU''(y) * ydot, from the input y and its rate ydot
};

// Applied in this order to the raw value v of each element; every pointer has the result's place and layout.
// Value is what maps are stored as, float or Bfloat16; v itself is a float.
template <class Value>
struct EpilogueOf {
  using Op = EpilogueOp;

  const float* bias = nullptr;  // by channel: v += bias
  Value* raw = nullptr;         // v is stored here as it is now
  Op op = Op::none;
  const Value *y = nullptr, *delta = nullptr, *ydot = nullptr;
  const Value* add = nullptr;  // v += add; may be the result's own memory
  int64_t add_planes = 0;      // of an image in add's memory; 0: as many as it has
  bool add_unpooled = false;   // add has half the size, and each of its values is spread over 2x2 pixels
  // Also stored, from the finished v: the activation of v, or v * its slope at second_y (ELU: its output,
  // SiLU: its input).
  Value* second = nullptr;
  const Value* second_y = nullptr;
  bool second_silu = false;
};
using Epilogue = EpilogueOf<float>;

// A feature map in the engine's layout: n, channels/block, height, width, block. It may be a part of the
// channels of a larger one, whose images have `planes` channel blocks.
struct MapShape {
  int64_t channels, height, width, block;
  int64_t planes = 0;  // 0: channels / block

  [[gnu::always_inline]] int64_t blocks() const { return channels / block; }
  [[gnu::always_inline]] int64_t stride() const { return planes > 0 ? planes : blocks(); }
  [[gnu::always_inline]] int64_t plane() const { return height * width * block; }  // values
};

// Where a map lies: of one that is a part of a larger one, the first of its planes and the planes of an
// image.
template <class Value>
struct MapInOf {
  const Value* data;
  int64_t planes;
  [[gnu::always_inline]] MapInOf(const Value* at, int64_t planes_of_image = 0)
      : data(at), planes(planes_of_image) {}
};
template <class Value>
struct MapOutOf {
  Value* data;
  int64_t planes;
  [[gnu::always_inline]] MapOutOf(Value* at, int64_t planes_of_image = 0)
      : data(at), planes(planes_of_image) {}
  [[gnu::always_inline]] operator MapInOf<Value>() const { return {data, planes}; }
};
using MapIn = MapInOf<float>;
using MapOut = MapOutOf<float>;

}  // namespace mdsm::engine::native
