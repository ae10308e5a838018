// Vectors one channel block wide, ELU on them, and the epilogue of a convolution; included once per
// instruction set by winograd_impl.h and tile_impl.h.
#pragma once

#include "engine/native/epilogue.h"

#define MDSM_INLINE inline __attribute__((always_inline))

namespace mdsm::engine::native {
namespace {

template <int B>
struct VectorType {
  typedef float Type __attribute__((vector_size(B * sizeof(float))));
  typedef int32_t Integer __attribute__((vector_size(B * sizeof(float))));
};
template <int B>
using Vector = typename VectorType<B>::Type;

// From the block size at run time to the compiler's. Blocks of 16 only where they fit a register.
template <int B>
struct Constant {
  static constexpr int kValue = B;
};
#if defined(__AVX512F__)
constexpr int64_t kWidestBlock = 16;
#else
constexpr int64_t kWidestBlock = 8;
#endif
template <class Body>
MDSM_INLINE void with_block(int64_t block, const Body& body) {
  if constexpr (kWidestBlock == 16) {
    if (block == 16) return body(Constant<16>{});
  }
  if (block == 8) body(Constant<8>{});
}

template <int B>
MDSM_INLINE Vector<B> load(const float* from) {
  return *reinterpret_cast<const Vector<B>*>(from);
}
template <int B>
MDSM_INLINE void store(float* to, const Vector<B>& value) {
  *reinterpret_cast<Vector<B>*>(to) = value;
}

// How many rows and panels of a matrix product fit the registers.
template <int B>
struct RegisterTile {
#if defined(__AVX512F__)
  static constexpr int kRows = 12, kTransposedRows = 8, kTransposedPanels = 2;
#else
  static constexpr int kRows = 6, kTransposedRows = 4, kTransposedPanels = 3;
#endif
};

// exp(x) for x <= 0 as 2^k * polynomial, at most 2 units in the last place off; 1 for x > 0.
template <int B>
MDSM_INLINE Vector<B> exp_of_negative(const Vector<B>& x) {
  using V = Vector<B>;
  using I = typename VectorType<B>::Integer;
  const V zero = {}, low = zero - 87.0f;
  V t = x < zero ? x : zero;
  t = t < low ? low : t;
  const I k = __builtin_convertvector(t * 1.44269504088896341f - 0.5f, I);
  const V whole = __builtin_convertvector(k, V);
  const V r = (t - whole * 0.693359375f) + whole * 2.12194440e-4f;
  V p = zero + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const I bits = (k + 127) << 23;
  const V scale = __builtin_bit_cast(V, bits);
  return p * scale;
}

template <int B>
MDSM_INLINE Vector<B> elu_of(const Vector<B>& x) {
  const Vector<B> zero = {};
  return x > zero ? x : exp_of_negative<B>(x) - 1.0f;
}

// 1 / (1 + exp(-x)), from the exponential of -|x|, which cannot overflow.
template <int B>
MDSM_INLINE Vector<B> sigmoid_of(const Vector<B>& x) {
  const Vector<B> zero = {}, one = zero + 1.0f;
  const Vector<B> e = exp_of_negative<B>(x < zero ? x : -x), up = one / (one + e);
  return x < zero ? e * up : up;
}
template <int B>
MDSM_INLINE Vector<B> silu_of(const Vector<B>& x) {
  return x * sigmoid_of<B>(x);
}
template <int B>
MDSM_INLINE Vector<B> silu_slope_of(const Vector<B>& x) {
  const Vector<B> s = sigmoid_of<B>(x);
  return s * (1.0f + x * (1.0f - s));
}

template <int B>
MDSM_INLINE Vector<B> slope_of(const Vector<B>& y) {
  const Vector<B> zero = {}, one = zero + 1.0f;
  return y > zero ? one : y + 1.0f;
}

// A run of pixels of one row of one plane of a map.
struct PixelRun {
  int64_t image, block;  // which image, and which of its channel blocks
  int64_t y, x, step;
};

template <int B, Epilogue::Op O>
MDSM_INLINE void finish_pixels(const Epilogue& e, const Vector<B>& bias, const Vector<B>* value, int count,
                               const MapShape& shape, PixelRun run, float* map) {
  using V = Vector<B>;
  const int64_t step = run.step * B, pixel = (run.y * shape.width + run.x) * B, blocks = shape.channels / B;
  const int64_t start = (run.image * blocks + run.block) * shape.plane() + pixel;
  float* const result = map + (run.image * shape.stride() + run.block) * shape.plane() + pixel;
  const int64_t add_plane = run.image * (e.add_planes > 0 ? e.add_planes : blocks) + run.block;
  for (int j = 0; j < count; ++j) {
    const int64_t at = start + j * step;
    V v = value[j] + bias;
    if (e.raw) store<B>(e.raw + at, v);
    if constexpr (O == Epilogue::Op::elu) v = elu_of<B>(v);
    if constexpr (O == Epilogue::Op::slope) v = v * slope_of<B>(load<B>(e.y + at));
    if constexpr (O == Epilogue::Op::bend) {
      const V y = load<B>(e.y + at), zero = {};
      const V bend = load<B>(e.delta + at) * load<B>(e.ydot + at);
      v = v * slope_of<B>(y) + (y > zero ? zero : bend);
    }
    if constexpr (O == Epilogue::Op::silu_slope) v = v * silu_slope_of<B>(load<B>(e.y + at));
    if constexpr (O == Epilogue::Op::silu_bend) {
      const V x = load<B>(e.y + at), s = sigmoid_of<B>(x), t = 1.0f - s;
      const V bend = s * t * (2.0f + x * (t - s));
      v = v * (s * (1.0f + x * t)) + load<B>(e.delta + at) * (bend * load<B>(e.ydot + at));
    }
    if (e.add) {
      if (e.add_unpooled) {
        const int64_t x = run.x + j * run.step;
        v += 0.25f *
             load<B>(e.add + add_plane * (shape.plane() / 4) + ((run.y / 2) * (shape.width / 2) + x / 2) * B);
      } else {
        v += load<B>(e.add + add_plane * shape.plane() + pixel + j * step);
      }
    }
    store<B>(result + j * step, v);
    if (e.second) {
      if (e.second_silu)
        store<B>(e.second + at, e.second_y ? v * silu_slope_of<B>(load<B>(e.second_y + at)) : silu_of<B>(v));
      else
        store<B>(e.second + at, e.second_y ? v * slope_of<B>(load<B>(e.second_y + at)) : elu_of<B>(v));
    }
  }
}

// The epilogue of rows first .. last-1 of a plane, whose raw values are one vector a pixel.
template <int B, Epilogue::Op O>
MDSM_INLINE void finish_plane_rows(const Epilogue& e, const MapShape& shape, int64_t image, int64_t block,
                                   int64_t first, int64_t last, const float* raw, float* map) {
  const Vector<B> bias = e.bias ? load<B>(e.bias + block * B) : Vector<B>{};
  for (int64_t y = first; y < last; ++y, raw += shape.width * B)
    finish_pixels<B, O>(e, bias, reinterpret_cast<const Vector<B>*>(raw), static_cast<int>(shape.width),
                        shape, {image, block, y, 0, 1}, map);
}

// Calls body with the operation as a constant.
template <Epilogue::Op O>
struct OpConstant {
  static constexpr Epilogue::Op kValue = O;
};
template <class Body>
MDSM_INLINE void with_op(Epilogue::Op op, const Body& body) {
  using Op = Epilogue::Op;
  switch (op) {
    case Op::none:
      return body(OpConstant<Op::none>{});
    case Op::elu:
      return body(OpConstant<Op::elu>{});
    case Op::slope:
      return body(OpConstant<Op::slope>{});
    case Op::bend:
      return body(OpConstant<Op::bend>{});
    case Op::silu_slope:
      return body(OpConstant<Op::silu_slope>{});
    case Op::silu_bend:
      return body(OpConstant<Op::silu_bend>{});
  }
}

// On planes that already hold raw values.
template <int B>
void finish_block(const Epilogue& e, const MapShape& shape, int64_t first, int64_t last, float* map) {
  with_op(e.op, [&](auto op) {
    const int64_t blocks = shape.channels / B;
    for (int64_t plane = first; plane < last; ++plane) {
      const int64_t image = plane / blocks, block = plane % blocks;
      finish_plane_rows<B, decltype(op)::kValue>(e, shape, image, block, 0, shape.height,
                                                 map + (image * shape.stride() + block) * shape.plane(), map);
    }
  });
}

// On rows of an image whose raw values lie in panels, one row of them a pixel.
template <int B>
void finish_rows_block(const Epilogue& e, const MapShape& shape, int64_t image, int64_t first, int64_t last,
                       const float* raw, int64_t panel, float* map) {
  with_op(e.op, [&](auto op) {
    for (int64_t block = 0; block < shape.channels / B; ++block)
      finish_plane_rows<B, decltype(op)::kValue>(e, shape, image, block, first, last, raw + block * panel,
                                                 map);
  });
}

}  // namespace
}  // namespace mdsm::engine::native
