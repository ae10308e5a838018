// The bodies of tile_kernels.h, included once per instruction set by kernels_impl.h, whose rules hold here
// too.
#include "engine/native/tile_finish_impl.h"
#include "engine/native/tile_pack_impl.h"

namespace mdsm::engine::native {
namespace {

// The eight tiles of a CPU, emulated. A tile is what it was last used for: sums, or factors as they lie.
struct EmulatedTiles {
  using Stores = PlainStores;
  alignas(64) float sum[8][16][16];
  alignas(64) float factor[8][16][32];

  void begin() {}
  void end() {}
  template <int T>
  void zero() {
    for (auto& row : sum[T])
      for (float& value : row) value = 0;
  }
  template <int T>
  void load_sum(const float* from) {
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 16; ++c) sum[T][r][c] = from[r * 16 + c];
  }
  template <int T>
  void store_sum(float* to) const {
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 16; ++c) to[r * 16 + c] = sum[T][r][c];
  }
  template <int T>
  void load(const Bfloat16* from) {
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 32; ++c) factor[T][r][c] = to_float(from[r * 32 + c]);
  }
  template <int S, int A, int B>
  void multiply_add() {
    for (int r = 0; r < 16; ++r)
      for (int k = 0; k < 16; ++k) {
        const float even = factor[A][r][2 * k], odd = factor[A][r][2 * k + 1];
        for (int c = 0; c < 16; ++c)
          sum[S][r][c] += even * factor[B][k][2 * c] + odd * factor[B][k][2 * c + 1];
      }
  }
};

#if defined(__AVX512F__)
// The CPU's own rounding to bfloat16.
struct RoundingStores {
  template <int B>
  static MDSM_INLINE void put(float* to, const Vector<B>& value) {
    store<B>(to, value);
  }
  template <int B>
  static MDSM_INLINE void put(Bfloat16* to, const Vector<B>& value) {
    HalfVector<B> rounded;
    asm("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(value));
    *reinterpret_cast<HalfVector<B>*>(to) = rounded;
  }
};

// AVX-512 BF16: a row of sums is a vector, and one instruction adds a pair of products to each of its lanes.
// Factors are read where they lie; the 16 rows of a tile of sums are registers from its first product to its
// last.
struct VectorProducts {
  using Stores = RoundingStores;
  void begin() {}
  void end() {}

  // walk(body) calls body(a, b) for every pair of tiles whose product belongs to the sums.
  template <class Walk>
  static MDSM_INLINE void sum(bool add, float* sums, const Walk& walk) {
    Vector<16> rows[16];
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) rows[r] = add ? load<16>(sums + r * 16) : Vector<16>{};
    walk([&](const Bfloat16* a, const Bfloat16* b) MDSM_INLINE_LAMBDA {
      for (int k = 0; k < 16; ++k, a += 2, b += 32) {
        const Vector<16> pairs = *reinterpret_cast<const Vector<16>*>(b);
#pragma GCC unroll 16
        for (int r = 0; r < 16; ++r)
          asm("vdpbf16ps %2%{1to16%}, %1, %0"
              : "+v"(rows[r])
              : "v"(pairs), "m"(*reinterpret_cast<const uint32_t*>(a + r * 32)));
      }
    });
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) store<16>(sums + r * 16, rows[r]);
  }
};
#endif

#if defined(__AVX512F__) && defined(__linux__)
#define MDSM_MATRIX_UNITS
// AMX. The shape of the tiles is loaded for every call and given back after it, so that nothing depends on
// what else a thread did.
struct MatrixUnits {
  using Stores = RoundingStores;
  struct alignas(64) Shape {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };

  void begin() {
    const Shape shape;
    asm volatile("ldtilecfg %0" ::"m"(shape));
  }
  void end() { asm volatile("tilerelease" ::: "memory"); }
  template <int T>
  void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(T));
  }
  template <int T>
  void load_sum(const float* from) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(int64_t{64}), "i"(T) : "memory");
  }
  template <int T>
  void store_sum(float* to) const {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(int64_t{64}), "i"(T) : "memory");
  }
  template <int T>
  void load(const Bfloat16* from) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(int64_t{64}), "i"(T) : "memory");
  }
  template <int S, int A, int B>
  void multiply_add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(S), "i"(A), "i"(B));
  }
};
#endif

// kPositionsAtOnce by 16 outputs, over inputs first .. last-1; `between` is called after every step.
template <class Tiles, class Between>
MDSM_INLINE void multiply_positions(Tiles& tiles, const TileProduct& product, const Bfloat16* map,
                                    int64_t count, const Bfloat16* weights, int64_t first, int64_t last,
                                    float* sums, const Between& between) {
  if (first == 0) {
    tiles.template zero<0>();
    tiles.template zero<1>();
    tiles.template zero<2>();
    tiles.template zero<3>();
  } else {
    tiles.template load_sum<0>(sums);
    tiles.template load_sum<1>(sums + 256);
    tiles.template load_sum<2>(sums + 2 * 256);
    tiles.template load_sum<3>(sums + 3 * 256);
  }
  const Bfloat16* w = weights + first * product.taps * kTileValues;
  for (int64_t k = first; k < last; ++k)
    for (int64_t t = 0; t < product.taps; ++t, w += kTileValues) {
      const Bfloat16* const a = map + (k * count + product.offsets[t]) * kTileDepth;
      tiles.template load<6>(w);
      tiles.template load<4>(a);
      tiles.template multiply_add<0, 4, 6>();
      tiles.template load<5>(a + kTileValues);
      tiles.template multiply_add<1, 5, 6>();
      tiles.template load<4>(a + 2 * kTileValues);
      tiles.template multiply_add<2, 4, 6>();
      tiles.template load<5>(a + 3 * kTileValues);
      tiles.template multiply_add<3, 5, 6>();
      between();
    }
  tiles.template store_sum<0>(sums);
  tiles.template store_sum<1>(sums + 256);
  tiles.template store_sum<2>(sums + 2 * 256);
  tiles.template store_sum<3>(sums + 3 * 256);
}

#ifdef __AVX512F__
// Nothing runs in between: these products take the vector units themselves.
template <class Between>
MDSM_INLINE void multiply_positions(VectorProducts&, const TileProduct& product, const Bfloat16* map,
                                    int64_t count, const Bfloat16* weights, int64_t first, int64_t last,
                                    float* sums, const Between&) {
  for (int64_t p = 0; p < kPositionsAtOnce; p += kTileRows) {
    VectorProducts::sum(first > 0, sums + p * kTileRows, [&](const auto& body) MDSM_INLINE_LAMBDA {
      const Bfloat16* w = weights + first * product.taps * kTileValues;
      for (int64_t k = first; k < last; ++k)
        for (int64_t t = 0; t < product.taps; ++t, w += kTileValues)
          body(map + (k * count + product.offsets[t] + p) * kTileDepth, w);
    });
  }
}
#endif

template <class Tiles, int B, EpilogueOp O, class Result>
void convolve_block(const TileProduct& product, const Bfloat16* map, int64_t count, const Bfloat16* weights,
                    float* sums, const EpilogueOf<Bfloat16>& epilogue, const PositionMap& to, RowRange range,
                    Result* result) {
  const bool whole = product.inputs <= kInputsAtOnce;
  const int64_t real = (range.last - range.first) * to.columns;
  Finisher<Tiles, B, O, Result> finisher(epilogue, to, range, result);
  Tiles tiles;
  tiles.begin();
  int64_t turn = 0;
  for (int64_t first = 0; first < product.inputs; first += kInputsAtOnce) {
    const int64_t behind = first + kInputsAtOnce, last = behind < product.inputs ? behind : product.inputs,
                  steps = (last - first) * product.taps, each = (kPositionsAtOnce + steps - 1) / steps;
    for (int64_t n = 0; n < product.outputs; ++n) {
      const Bfloat16* const w = weights + n * product.inputs * product.taps * kTileValues;
      for (int64_t p = 0; p < product.positions; p += kPositionsAtOnce, ++turn) {
        float* const to_sums =
            sums + kTileRows * (whole ? turn % 2 * kPositionsAtOnce : n * product.positions + p);
        multiply_positions(tiles, product, map + p * kTileDepth, count, w, first, last, to_sums,
                           [&] { finisher.advance(each); });
        finisher.complete();
        const int64_t left = real - p;  // what fills positions up belongs to nobody
        if (last == product.inputs && left > 0)
          finisher.begin(n, left < kPositionsAtOnce ? left : kPositionsAtOnce, to_sums);
      }
    }
  }
  finisher.complete();
  tiles.end();
}

template <class Tiles, class Result>
void tile_convolve(const TileProduct& product, const Bfloat16* map, int64_t count, const Bfloat16* weights,
                   float* sums, const EpilogueOf<Bfloat16>& epilogue, const PositionMap& to, RowRange range,
                   Result* result) {
  with_block(to.map.block, [&](auto b) {
    constexpr int B = decltype(b)::kValue;
    if constexpr (sizeof(Result) == sizeof(float))
      convolve_block<Tiles, B, EpilogueOp::none>(product, map, count, weights, sums, epilogue, to, range,
                                                 result);
    else
      with_op(epilogue.op, [&](auto op) {
        convolve_block<Tiles, B, decltype(op)::kValue>(product, map, count, weights, sums, epilogue, to,
                                                       range, result);
      });
  });
}

// The sums of one or two blocks of 16 outputs with one of 16 inputs, for `Taps` taps of a row: as many tiles
// as there are for sums, so that every tile of factors is used often.
struct GradientSteps {
  int64_t left, sums;  // from one block of outputs to the next
};
template <int Outputs, int Taps, class Tiles>
void multiply_gradient_row(Tiles& tiles, int64_t positions, const Bfloat16* left,
                           const Bfloat16* const* right, bool add, float* sums, const GradientSteps& step) {
  const auto each_sum = [&](const auto& body) {
    float* const second = sums + step.sums;
    body(Constant<0>{}, sums);
    if constexpr (Taps > 1) body(Constant<1>{}, sums + 256);
    if constexpr (Taps > 2) body(Constant<2>{}, sums + 2 * 256);
    if constexpr (Outputs > 1) body(Constant<3>{}, second);
    if constexpr (Outputs > 1 && Taps > 1) body(Constant<4>{}, second + 256);
    if constexpr (Outputs > 1 && Taps > 2) body(Constant<5>{}, second + 2 * 256);
  };
  each_sum([&](auto tile, const float* from) {
    constexpr int T = decltype(tile)::kValue;
    add ? tiles.template load_sum<T>(from) : tiles.template zero<T>();
  });
  for (int64_t p = 0; p < positions; p += kTileDepth) {
    const Bfloat16 *const a = left + p * kTileRows, *const b = a + step.left;
    tiles.template load<6>(right[0] + p * kTileRows);
    tiles.template load<7>(a);
    tiles.template multiply_add<0, 7, 6>();
    if constexpr (Outputs > 1) {
      tiles.template load<7>(b);
      tiles.template multiply_add<3, 7, 6>();
    }
    if constexpr (Taps > 1) {
      tiles.template load<6>(right[1] + p * kTileRows);
      if constexpr (Outputs > 1) {
        tiles.template multiply_add<4, 7, 6>();
        tiles.template load<7>(a);
      }
      tiles.template multiply_add<1, 7, 6>();
    }
    if constexpr (Taps > 2) {
      tiles.template load<6>(right[2] + p * kTileRows);
      tiles.template multiply_add<2, 7, 6>();
      if constexpr (Outputs > 1) {
        tiles.template load<7>(b);
        tiles.template multiply_add<5, 7, 6>();
      }
    }
  }
  each_sum([&](auto tile, float* to) { tiles.template store_sum<decltype(tile)::kValue>(to); });
}

#ifdef __AVX512F__
template <int Outputs, int Taps>
void multiply_gradient_row(VectorProducts&, int64_t positions, const Bfloat16* left,
                           const Bfloat16* const* right, bool add, float* sums, const GradientSteps& step) {
  for (int64_t o = 0; o < Outputs; ++o)
    for (int64_t t = 0; t < Taps; ++t)
      VectorProducts::sum(add, sums + o * step.sums + t * 256, [&](const auto& body) MDSM_INLINE_LAMBDA {
        for (int64_t p = 0; p < positions; p += kTileDepth)
          body(left + o * step.left + p * kTileRows, right[t] + p * kTileRows);
      });
}
#endif

template <class Tiles, int Taps>
void multiply_gradient_rows(const TileProduct& product, const Bfloat16* even, const Bfloat16* odd,
                            int64_t count, const Bfloat16* across, bool add, float* sums) {
  const GradientSteps step{product.positions * kTileRows, product.inputs * product.taps * 256};
  Tiles tiles;
  tiles.begin();
  for (int64_t i = 0; i < product.inputs; ++i)
    for (int64_t o = 0; o < product.outputs; o += 2)
      for (int64_t t = 0; t < product.taps; t += Taps) {
        const Bfloat16* right[Taps];
        for (int64_t k = 0; k < Taps; ++k) {
          const int64_t offset = product.offsets[t + k];
          right[k] = (offset % 2 ? odd : even) + (i * count + offset / 2 * 2) * kTileRows;
        }
        const Bfloat16* const left = across + o * step.left;
        float* const to = sums + o * step.sums + (i * product.taps + t) * 256;
        if (o + 1 < product.outputs)
          multiply_gradient_row<2, Taps>(tiles, product.positions, left, right, add, to, step);
        else
          multiply_gradient_row<1, Taps>(tiles, product.positions, left, right, add, to, step);
      }
  tiles.end();
}

// Kernels are 1x1, 2x2 or 3x3.
template <class Tiles>
void tile_multiply_gradient(const TileProduct& product, const Bfloat16* even, const Bfloat16* odd,
                            int64_t count, const Bfloat16* across, bool add, float* sums) {
  if (product.taps == 9)
    multiply_gradient_rows<Tiles, 3>(product, even, odd, count, across, add, sums);
  else if (product.taps == 4)
    multiply_gradient_rows<Tiles, 2>(product, even, odd, count, across, add, sums);
  else
    multiply_gradient_rows<Tiles, 1>(product, even, odd, count, across, add, sums);
}

template <class Tiles>
constexpr TileKernels tile_kernels_of(const char* name) {
  return {name,
          pack,
          pack_pairs,
          pack_across,
          pack_weights,
          tile_convolve<Tiles, Bfloat16>,
          tile_convolve<Tiles, float>,
          tile_multiply_gradient<Tiles>};
}

constexpr TileKernels kEmulatedTiles = tile_kernels_of<EmulatedTiles>("emulated");
#ifdef __AVX512F__
constexpr TileKernels kVectorProducts = tile_kernels_of<VectorProducts>("AVX-512 BF16");
constexpr const TileKernels* kVectorTiles = &kVectorProducts;
#else
constexpr const TileKernels* kVectorTiles = nullptr;
#endif
#ifdef MDSM_MATRIX_UNITS
constexpr TileKernels kMatrixUnits = tile_kernels_of<MatrixUnits>("AMX");
constexpr const TileKernels* kMatrixTiles = &kMatrixUnits;
#else
constexpr const TileKernels* kMatrixTiles = nullptr;
#endif

}  // namespace
}  // namespace mdsm::engine::native
