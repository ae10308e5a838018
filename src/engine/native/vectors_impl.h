// Vectors one channel block wide, ELU on them, and the epilogue of a convolution; included once per
// instruction set by winograd_impl.h and tile_impl.h.
#pragma once

#include "engine/native/epilogue.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define MDSM_INLINE inline __attribute__((always_inline))
#define MDSM_INLINE_LAMBDA __attribute__((always_inline))

namespace mdsm::engine::native {
namespace {

template <int B>
struct VectorType {
  typedef float Type __attribute__((vector_size(B * sizeof(float))));
  typedef int32_t Integer __attribute__((vector_size(B * sizeof(float))));
  typedef uint32_t Unsigned __attribute__((vector_size(B * sizeof(float))));
  typedef Bfloat16 Half __attribute__((vector_size(B * sizeof(Bfloat16))));
};
template <int B>
using Vector = typename VectorType<B>::Type;
template <int B>
using HalfVector = typename VectorType<B>::Half;

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

// Conversions between lanes of 16 and 32 bits; the compiler's own for 16 lanes take detours.
template <int B>
MDSM_INLINE typename VectorType<B>::Unsigned widened(const Bfloat16* from) {
  using U = typename VectorType<B>::Unsigned;
#if defined(__AVX512F__)
  if constexpr (B == 16)
    return __builtin_bit_cast(
        U, _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(from))));
  else
#endif
    return __builtin_convertvector(*reinterpret_cast<const HalfVector<B>*>(from), U);
}
template <int B>
MDSM_INLINE void put_lower_halves(Bfloat16* to, const typename VectorType<B>::Unsigned& bits) {
#if defined(__AVX512F__)
  if constexpr (B == 16)
    _mm256_store_si256(reinterpret_cast<__m256i*>(to),
                       _mm512_cvtepi32_epi16(__builtin_bit_cast(__m512i, bits)));
  else
#endif
    *reinterpret_cast<HalfVector<B>*>(to) = __builtin_convertvector(bits, HalfVector<B>);
}

// Maps in bfloat16. Results that are no numbers stay so: the CPU makes only NaNs whose upper half says it.
template <int B>
MDSM_INLINE Vector<B> load(const Bfloat16* from) {
  const typename VectorType<B>::Unsigned upper = widened<B>(from) << 16;
  return __builtin_bit_cast(Vector<B>, upper);
}
template <int B>
MDSM_INLINE void store(Bfloat16* to, const Vector<B>& value) {
  using U = typename VectorType<B>::Unsigned;
  const U bits = __builtin_bit_cast(U, value), nearest = (bits + (((bits >> 16) & 1) + 0x7fff)) >> 16;
  put_lower_halves<B>(to, nearest);
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

template <int B>
MDSM_INLINE Vector<B> slope_of(const Vector<B>& y) {
  const Vector<B> zero = {}, one = zero + 1.0f;
  return y > zero ? one : y + 1.0f;
}

// The same where results are rounded to bfloat16 anyway: 1e-4 of their size off at most, at half the price.
#if defined(__AVX512F__)
MDSM_INLINE Vector<16> rough_reciprocal(const Vector<16>& x) {
  return __builtin_bit_cast(Vector<16>, _mm512_rcp14_ps(__builtin_bit_cast(__m512, x)));
}
MDSM_INLINE Vector<16> between(float low, float high, const Vector<16>& x) {
  const __m512 above = _mm512_max_ps(__builtin_bit_cast(__m512, x), _mm512_set1_ps(low));
  return __builtin_bit_cast(Vector<16>, _mm512_min_ps(above, _mm512_set1_ps(high)));
}
#endif
MDSM_INLINE Vector<8> rough_reciprocal(const Vector<8>& x) { return 1.0f / x; }
MDSM_INLINE Vector<8> between(float low, float high, const Vector<8>& x) {
  const Vector<8> least = Vector<8>{} + low, most = Vector<8>{} + high, above = x > least ? x : least;
  return above < most ? above : most;
}

// exp(x) between -87 and 87, to 2e-7 of its size. Adding a large number rounds to whole powers of 2 and
// leaves them in the lowest bits.
template <int B>
MDSM_INLINE Vector<B> exp_of(const Vector<B>& x) {
  using V = Vector<B>;
  using I = typename VectorType<B>::Integer;
  const V t = between(-87.0f, 87.0f, x), shifted = t * 1.44269504088896341f + 12582912.0f;
  const V whole = shifted - 12582912.0f, r = (t - whole * 0.693359375f) + whole * 2.12194440e-4f;
  V p = V{} + 8.31248e-3f;
  p = p * r + 4.189055e-2f;
  p = p * r + 1.6667116e-1f;
  p = p * r + 4.9999229e-1f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const I bits = __builtin_bit_cast(I, p) + (__builtin_bit_cast(I, shifted) << 23);
  return __builtin_bit_cast(V, bits);
}
// A division of sixteen values is slow by the makers' tables, so it is an estimate and a Newton step.
MDSM_INLINE Vector<8> reciprocal(const Vector<8>& x) { return 1.0f / x; }
#if defined(__AVX512F__)
MDSM_INLINE Vector<16> reciprocal(const Vector<16>& x) {
  const Vector<16> rough = rough_reciprocal(x);
  return rough * (2.0f - x * rough);
}
#endif
template <int B>
MDSM_INLINE Vector<B> sigmoid_of(const Vector<B>& x) {
  return reciprocal(1.0f + exp_of<B>(-x));
}

// 2^x. Adding a large number rounds to whole powers of 2 and leaves them in the lowest bits.
template <int B>
MDSM_INLINE Vector<B> rough_power_of_2(const Vector<B>& x) {
  using V = Vector<B>;
  using I = typename VectorType<B>::Integer;
  const V t = between(-125.0f, 125.0f, x), shifted = t + 12582912.0f, f = t - (shifted - 12582912.0f);
  V p = V{} + 9.570461e-3f;
  p = p * f + 5.5878645e-2f;
  p = p * f + 2.4022901e-1f;
  p = p * f + 6.9314174e-1f;
  p = p * f + 1.0f;
  const I bits = __builtin_bit_cast(I, p) + (__builtin_bit_cast(I, shifted) << 23);
  return __builtin_bit_cast(V, bits);
}
template <int B>
MDSM_INLINE Vector<B> rough_sigmoid(const Vector<B>& x) {
  return rough_reciprocal(1.0f + rough_power_of_2<B>(x * -1.44269504088896341f));
}

// The activations as precise as the values they are stored as.
template <int B, class Value>
struct Activations {
  using V = Vector<B>;
  static constexpr bool kRough = sizeof(Value) < sizeof(float);
  static MDSM_INLINE V elu(const V& x) {
    if constexpr (kRough) {
      const V zero = {};
      return x > zero ? x : rough_power_of_2<B>(x * 1.44269504088896341f) - 1.0f;
    } else {
      return elu_of<B>(x);
    }
  }
  static MDSM_INLINE V sigmoid(const V& x) {
    if constexpr (kRough)
      return rough_sigmoid<B>(x);
    else
      return sigmoid_of<B>(x);
  }
  static MDSM_INLINE V silu(const V& x) { return x * sigmoid(x); }
  static MDSM_INLINE V silu_slope(const V& x) {
    const V s = sigmoid(x);
    return s * (1.0f + x * (1.0f - s));
  }
};

// How values get to memory; matrix units come with an instruction for it.
struct PlainStores {
  template <int B, class Value>
  static MDSM_INLINE void put(Value* to, const Vector<B>& value) {
    store<B>(to, value);
  }
};

// A run of pixels of one row of one plane of a map.
struct PixelRun {
  int64_t image, block;  // which image, and which of its channel blocks
  int64_t y, x, step;
};

// One vector: `at` is its place in maps of its own, `add` what is added, or null. Result: what the map itself
// is stored as.
template <int B, EpilogueOp O, class Stores, class Value, class Result>
MDSM_INLINE void finish_value(const EpilogueOf<Value>& e, Vector<B> v, int64_t at, const Value* add,
                              Result* result) {
  using V = Vector<B>;
  using Activation = Activations<B, Value>;
  if (e.raw) Stores::template put<B>(e.raw + at, v);
  if constexpr (O == EpilogueOp::elu) v = Activation::elu(v);
  if constexpr (O == EpilogueOp::slope) v = v * slope_of<B>(load<B>(e.y + at));
  if constexpr (O == EpilogueOp::bend) {
    const V y = load<B>(e.y + at), zero = {};
    const V bend = load<B>(e.delta + at) * load<B>(e.ydot + at);
    v = v * slope_of<B>(y) + (y > zero ? zero : bend);
  }
  if constexpr (O == EpilogueOp::silu_slope) v = v * Activation::silu_slope(load<B>(e.y + at));
  if constexpr (O == EpilogueOp::silu_bend) {
    const V x = load<B>(e.y + at), s = Activation::sigmoid(x), t = 1.0f - s;
    const V bend = s * t * (2.0f + x * (t - s));
    v = v * (s * (1.0f + x * t)) + load<B>(e.delta + at) * (bend * load<B>(e.ydot + at));
  }
  if (add) v += e.add_unpooled ? 0.25f * load<B>(add) : load<B>(add);
  Stores::template put<B>(result, v);
  if (e.second) {
    if (e.second_silu)
      Stores::template put<B>(e.second + at, e.second_y ? v * Activation::silu_slope(load<B>(e.second_y + at))
                                                        : Activation::silu(v));
    else
      Stores::template put<B>(e.second + at,
                              e.second_y ? v * slope_of<B>(load<B>(e.second_y + at)) : Activation::elu(v));
  }
}

// value: the raw ones of `count` pixels. Where the compiler knows that they are four, they stay in registers.
template <int B, EpilogueOp O, class Value>
MDSM_INLINE void finish_pixels(const EpilogueOf<Value>& e, const Vector<B>& bias, const Vector<B>* value,
                               int64_t count, const MapShape& shape, PixelRun run, Value* map) {
  const int64_t step = run.step * B, pixel = (run.y * shape.width + run.x) * B, blocks = shape.channels / B;
  const int64_t start = (run.image * blocks + run.block) * shape.plane() + pixel;
  Value* const result = map + (run.image * shape.stride() + run.block) * shape.plane() + pixel;
  const int64_t add_plane = run.image * (e.add_planes > 0 ? e.add_planes : blocks) + run.block;
#pragma GCC unroll 4
  for (int64_t j = 0; j < count; ++j) {
    const Value* add = e.add;
    if (add)
      add += e.add_unpooled ? add_plane * (shape.plane() / 4) +
                                  ((run.y / 2) * (shape.width / 2) + (run.x + j * run.step) / 2) * B
                            : add_plane * shape.plane() + pixel + j * step;
    finish_value<B, O, PlainStores>(e, value[j] + bias, start + j * step, add, result + j * step);
  }
}

// The epilogue of rows first .. last-1 of a plane, whose raw values are one vector a pixel.
template <int B, EpilogueOp O, class Value>
MDSM_INLINE void finish_plane_rows(const EpilogueOf<Value>& e, const MapShape& shape, int64_t image,
                                   int64_t block, int64_t first, int64_t last, const float* raw, Value* map) {
  const Vector<B> bias = e.bias ? load<B>(e.bias + block * B) : Vector<B>{};
  for (int64_t y = first; y < last; ++y, raw += shape.width * B)
    finish_pixels<B, O>(e, bias, reinterpret_cast<const Vector<B>*>(raw), shape.width, shape,
                        {image, block, y, 0, 1}, map);
}

// Calls body with the operation as a constant.
template <EpilogueOp O>
struct OpConstant {
  static constexpr EpilogueOp kValue = O;
};
template <class Body>
MDSM_INLINE void with_op(EpilogueOp op, const Body& body) {
  using Op = EpilogueOp;
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
// The same in bfloat16, a row at a time.
template <int B>
void finish_block(const EpilogueOf<Bfloat16>& e, const MapShape& shape, int64_t first, int64_t last,
                  Bfloat16* map) {
  constexpr int64_t kAtOnce = 16;
  Vector<B> raw[kAtOnce];
  with_op(e.op, [&](auto op) {
    const int64_t blocks = shape.channels / B;
    const Vector<B> none = {};
    for (int64_t plane = first; plane < last; ++plane) {
      const int64_t image = plane / blocks, block = plane % blocks;
      const Bfloat16* from = map + (image * shape.stride() + block) * shape.plane();
      const Vector<B> bias = e.bias ? load<B>(e.bias + block * B) : none;
      for (int64_t y = 0; y < shape.height; ++y)
        for (int64_t x = 0; x < shape.width; x += kAtOnce) {
          const int64_t count = shape.width - x < kAtOnce ? shape.width - x : kAtOnce;
          for (int64_t j = 0; j < count; ++j) raw[j] = load<B>(from + (y * shape.width + x + j) * B);
          finish_pixels<B, decltype(op)::kValue>(e, bias, raw, count, shape, {image, block, y, x, 1}, map);
        }
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
