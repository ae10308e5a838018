// The bodies of tile_kernels.h, included once per instruction set by kernels_impl.h, whose rules hold here
// too.
#include "engine/native/tile_kernels.h"
#include "engine/native/vectors_impl.h"

namespace mdsm::engine::native {
namespace {

// The eight tiles of a CPU, emulated: 0 to 3 are sums, 4 and 5 left and 6 and 7 right factors.
struct EmulatedTiles {
  alignas(64) float sum[4][16][16];
  alignas(64) float left[2][16][32];
  alignas(64) float right[2][2][16][16];  // even and odd inputs

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
      for (int c = 0; c < 16; ++c) {
        const float even = to_float(from[r * 32 + 2 * c]), odd = to_float(from[r * 32 + 2 * c + 1]);
        if constexpr (T < 6) {
          left[T - 4][r][2 * c] = even;
          left[T - 4][r][2 * c + 1] = odd;
        } else {
          right[T - 6][0][r][c] = even;
          right[T - 6][1][r][c] = odd;
        }
      }
  }
  template <int S, int A, int B>
  void multiply_add() {
    for (int r = 0; r < 16; ++r)
      for (int k = 0; k < 16; ++k) {
        const float even = left[A - 4][r][2 * k], odd = left[A - 4][r][2 * k + 1];
        for (int c = 0; c < 16; ++c)
          sum[S][r][c] += even * right[B - 6][0][k][c] + odd * right[B - 6][1][k][c];
      }
  }
};

#if defined(__AVX512F__) && defined(__linux__)
#define MDSM_MATRIX_UNITS
// AMX. The shape of the tiles is loaded for every call and given back after it, so that nothing depends on
// what else a thread did.
struct MatrixUnits {
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

// Rounded to bfloat16, in the lower half of each lane.
template <int B>
MDSM_INLINE typename VectorType<B>::Integer rounded(const Vector<B>& value) {
  using I = typename VectorType<B>::Integer;
  const I bits = __builtin_bit_cast(I, value), even = (bits >> 16) & 1;
  const I nearest = ((bits + (even + 0x7fff)) >> 16) & 0xffff, not_a_number = (bits & 0) + 0x7fc0;
  return value == value ? nearest : not_a_number;
}

// The rounded channels of block c at every position in order, zeros where there is no pixel
// or no such channel.
template <int B, class Body>
MDSM_INLINE void for_positions(const PositionMap& from, const float* map, int64_t c, RowRange range,
                               int64_t count, const Body& body) {
  using I = typename VectorType<B>::Integer;
  const I zero = {};
  int64_t position = 0;
  for (int64_t r = range.first; r < range.last; ++r) {
    const int64_t image = r / from.rows, y = from.step * (r % from.rows) + from.offset_y;
    const bool inside = c < from.map.blocks() && image < from.images && y >= 0 && y < from.map.height;
    const float* const row =
        map + (image * from.map.stride() + c) * from.map.plane() + y * from.map.width * B;
    for (int64_t s = 0; s < from.columns; ++s, ++position) {
      const int64_t x = from.step * s + from.offset_x;
      body(position, inside && x >= 0 && x < from.map.width ? rounded<B>(load<B>(row + x * B)) : zero);
    }
  }
  for (; position < count; ++position) body(position, zero);
}

template <int B>
void pack_block(const PositionMap& from, const float* map, RowRange range, int64_t count, Bfloat16* to) {
  constexpr int64_t kBlocks = kTileDepth / B;
  const int64_t all = (from.map.blocks() + kBlocks - 1) / kBlocks * kBlocks;
  for (int64_t c = 0; c < all; ++c) {
    Bfloat16* const at = to + c / kBlocks * count * kTileDepth + c % kBlocks * B;
    const auto put = [&](int64_t position, const typename VectorType<B>::Integer& value) {
      typedef Bfloat16 Half __attribute__((vector_size(B * sizeof(Bfloat16))));
      *reinterpret_cast<Half*>(at + position * kTileDepth) = __builtin_convertvector(value, Half);
    };
    for_positions<B>(from, map, c, range, count, put);
  }
}

// Words of two neighbouring positions each, the earlier one in the lower half: body(pair, word).
template <int B, class Even, class Odd>
MDSM_INLINE void for_pairs(const PositionMap& from, const float* map, int64_t c, RowRange range,
                           int64_t count, const Even& even, const Odd& odd) {
  using I = typename VectorType<B>::Integer;
  I before = {};
  for_positions<B>(from, map, c, range, count, [&](int64_t position, const I& value) {
    const I word = before | (value << 16);
    if (position % 2 == 1)
      even(position / 2, word);
    else if (position > 0)
      odd(position / 2 - 1, word);
    before = value;
  });
  odd(count / 2 - 1, before);
}

// Words of 16 channels beside each other, to[16 channels][rows][16]; c counts blocks of B.
template <int B>
MDSM_INLINE void put_word(Bfloat16* to, int64_t rows, int64_t c, int64_t row,
                          const typename VectorType<B>::Integer& word) {
  constexpr int64_t kBlocks = kTileRows / B;
  *reinterpret_cast<typename VectorType<B>::Integer*>(
      to + ((c / kBlocks * rows + row) * kTileRows + c % kBlocks * B) * 2) = word;
}

template <int B>
void pack_pairs_block(const PositionMap& from, const float* map, RowRange range, int64_t count,
                      Bfloat16* even, Bfloat16* odd) {
  constexpr int64_t kBlocks = kTileRows / B;
  using I = typename VectorType<B>::Integer;
  const int64_t all = (from.map.blocks() + kBlocks - 1) / kBlocks * kBlocks;
  for (int64_t c = 0; c < all; ++c) {
    const auto put_even = [&](int64_t pair, const I& word) { put_word<B>(even, count / 2, c, pair, word); };
    const auto put_odd = [&](int64_t pair, const I& word) { put_word<B>(odd, count / 2, c, pair, word); };
    for_pairs<B>(from, map, c, range, count, put_even, put_odd);
  }
}

template <int B>
void pack_across_block(const PositionMap& from, const float* map, RowRange range, int64_t count,
                       Bfloat16* to) {
  constexpr int64_t kBlocks = kTileRows / B, kPairs = kTileDepth / 2;
  using I = typename VectorType<B>::Integer;
  const int64_t all = (from.map.blocks() + kBlocks - 1) / kBlocks * kBlocks;
  for (int64_t c = 0; c < all; ++c) {
    auto* const words = reinterpret_cast<int32_t*>(to + c / kBlocks * (count / kTileDepth) * kTileValues) +
                        c % kBlocks * B * kPairs;
    I tile[kPairs];
    const auto put = [&](int64_t pair, const I& word) {
      tile[pair % kPairs] = word;
      if (pair % kPairs < kPairs - 1) return;
      int32_t* const at = words + pair / kPairs * (kTileValues / 2);
      for (int64_t channel = 0; channel < B; ++channel)
        for (int64_t k = 0; k < kPairs; ++k) at[channel * kPairs + k] = tile[k][channel];
    };
    for_pairs<B>(from, map, c, range, count, put, [](int64_t, const I&) {});
  }
}

void pack(const PositionMap& from, const float* map, RowRange range, int64_t count, Bfloat16* to) {
  with_block(from.map.block, [&](auto b) { pack_block<decltype(b)::kValue>(from, map, range, count, to); });
}
void pack_pairs(const PositionMap& from, const float* map, RowRange range, int64_t count, Bfloat16* even,
                Bfloat16* odd) {
  with_block(from.map.block,
             [&](auto b) { pack_pairs_block<decltype(b)::kValue>(from, map, range, count, even, odd); });
}
void pack_across(const PositionMap& from, const float* map, RowRange range, int64_t count, Bfloat16* to) {
  with_block(from.map.block,
             [&](auto b) { pack_across_block<decltype(b)::kValue>(from, map, range, count, to); });
}

// 32 positions by 16 or 32 outputs at a time.
template <class Tiles, bool Two>
void multiply_outputs(Tiles& tiles, const TileProduct& product, const Bfloat16* map, int64_t count,
                      const Bfloat16* weights, float* result) {
  const int64_t steps = product.inputs * product.taps;
  for (int64_t p = 0; p < product.positions; p += 32) {
    tiles.template zero<0>();
    tiles.template zero<1>();
    if constexpr (Two) {
      tiles.template zero<2>();
      tiles.template zero<3>();
    }
    const Bfloat16* w = weights;
    for (int64_t k = 0; k < product.inputs; ++k)
      for (int64_t t = 0; t < product.taps; ++t, w += kTileValues) {
        const Bfloat16* const a = map + (k * count + p + product.offsets[t]) * kTileDepth;
        tiles.template load<4>(a);
        tiles.template load<6>(w);
        tiles.template multiply_add<0, 4, 6>();
        tiles.template load<5>(a + kTileValues);
        tiles.template multiply_add<1, 5, 6>();
        if constexpr (Two) {
          tiles.template load<7>(w + steps * kTileValues);
          tiles.template multiply_add<2, 4, 7>();
          tiles.template multiply_add<3, 5, 7>();
        }
      }
    float* const to = result + p * kTileRows;
    tiles.template store_sum<0>(to);
    tiles.template store_sum<1>(to + 256);
    if constexpr (Two) {
      tiles.template store_sum<2>(to + product.positions * kTileRows);
      tiles.template store_sum<3>(to + product.positions * kTileRows + 256);
    }
  }
}

template <class Tiles>
void tile_multiply(const TileProduct& product, const Bfloat16* map, int64_t count, const Bfloat16* weights,
                   float* result) {
  const int64_t steps = product.inputs * product.taps;
  Tiles tiles;
  tiles.begin();
  for (int64_t n = 0; n < product.outputs; n += 2) {
    const Bfloat16* const w = weights + n * steps * kTileValues;
    float* const to = result + n * product.positions * kTileRows;
    n + 1 < product.outputs ? multiply_outputs<Tiles, true>(tiles, product, map, count, w, to)
                            : multiply_outputs<Tiles, false>(tiles, product, map, count, w, to);
  }
  tiles.end();
}

// One or two blocks of 16 outputs by one or two of 16 inputs. right: pairs of positions from the tap's first
// on, `right_step` from one block of inputs to the next; sums: `sum_step` from one block of outputs to the
// next.
template <class Tiles, bool TwoOutputs, bool TwoInputs>
void multiply_gradient_blocks(Tiles& tiles, int64_t positions, const Bfloat16* left, const Bfloat16* right,
                              int64_t right_step, float* sums, int64_t sum_step) {
  tiles.template load_sum<0>(sums);
  if constexpr (TwoInputs) tiles.template load_sum<1>(sums + 256);
  if constexpr (TwoOutputs) tiles.template load_sum<2>(sums + sum_step);
  if constexpr (TwoOutputs && TwoInputs) tiles.template load_sum<3>(sums + sum_step + 256);
  for (int64_t p = 0; p < positions; p += kTileDepth) {
    tiles.template load<4>(left + p * kTileRows);
    tiles.template load<6>(right + p * kTileRows);
    tiles.template multiply_add<0, 4, 6>();
    if constexpr (TwoInputs) {
      tiles.template load<7>(right + right_step + p * kTileRows);
      tiles.template multiply_add<1, 4, 7>();
    }
    if constexpr (TwoOutputs) {
      tiles.template load<5>(left + (positions + p) * kTileRows);
      tiles.template multiply_add<2, 5, 6>();
    }
    if constexpr (TwoOutputs && TwoInputs) tiles.template multiply_add<3, 5, 7>();
  }
  tiles.template store_sum<0>(sums);
  if constexpr (TwoInputs) tiles.template store_sum<1>(sums + 256);
  if constexpr (TwoOutputs) tiles.template store_sum<2>(sums + sum_step);
  if constexpr (TwoOutputs && TwoInputs) tiles.template store_sum<3>(sums + sum_step + 256);
}

template <class Tiles>
void tile_multiply_gradient(const TileProduct& product, const Bfloat16* even, const Bfloat16* odd,
                            int64_t count, const Bfloat16* across, float* sums) {
  Tiles tiles;
  tiles.begin();
  for (int64_t t = 0; t < product.taps; ++t)
    for (int64_t o = 0; o < product.outputs; o += 2)
      for (int64_t i = 0; i < product.inputs; i += 2) {
        const int64_t offset = product.offsets[t], sum_step = product.inputs * 256;
        const Bfloat16* const left = across + o * product.positions * kTileRows;
        const Bfloat16* const right = (offset % 2 ? odd : even) + (i * count + offset / 2 * 2) * kTileRows;
        float* const to = sums + ((t * product.outputs + o) * product.inputs + i) * 256;
        const bool outputs = o + 1 < product.outputs, inputs = i + 1 < product.inputs;
        const auto run = [&](auto body) {
          body(tiles, product.positions, left, right, count * kTileRows, to, sum_step);
        };
        if (outputs)
          inputs ? run(multiply_gradient_blocks<Tiles, true, true>)
                 : run(multiply_gradient_blocks<Tiles, true, false>);
        else
          inputs ? run(multiply_gradient_blocks<Tiles, false, true>)
                 : run(multiply_gradient_blocks<Tiles, false, false>);
      }
  tiles.end();
}

template <int B, Epilogue::Op O>
void tile_finish_block(const Epilogue& e, const PositionMap& to, RowRange range, const float* result,
                       int64_t positions, float* map) {
  constexpr int kAtOnce = 4;
  const int64_t columns = (to.map.width - to.offset_x + to.step - 1) / to.step;
  for (int64_t c = 0; c < to.map.blocks(); ++c) {
    const Vector<B> bias = e.bias ? load<B>(e.bias + c * B) : Vector<B>{};
    for (int64_t r = range.first; r < range.last; ++r) {
      const int64_t image = r / to.rows, y = to.step * (r % to.rows) + to.offset_y;
      if (image >= to.images || y >= to.map.height) continue;
      const float* from = result + c * B / kTileRows * positions * kTileRows +
                          (r - range.first) * to.columns * kTileRows + c * B % kTileRows;
      for (int64_t x = 0; x < columns; x += kAtOnce) {
        const int count = columns - x < kAtOnce ? static_cast<int>(columns - x) : kAtOnce;
        Vector<B> value[kAtOnce];
        for (int j = 0; j < count; ++j) value[j] = load<B>(from + (x + j) * kTileRows);
        finish_pixels<B, O>(e, bias, value, count, to.map, {image, c, y, to.step * x + to.offset_x, to.step},
                            map);
      }
    }
  }
}

void tile_finish(const Epilogue& e, const PositionMap& to, RowRange range, const float* result,
                 int64_t positions, float* map) {
  with_block(to.map.block, [&](auto b) {
    with_op(e.op, [&](auto op) {
      tile_finish_block<decltype(b)::kValue, decltype(op)::kValue>(e, to, range, result, positions, map);
    });
  });
}

constexpr TileKernels kEmulatedTiles = {"emulated",
                                        pack,
                                        pack_pairs,
                                        pack_across,
                                        tile_multiply<EmulatedTiles>,
                                        tile_multiply_gradient<EmulatedTiles>,
                                        tile_finish};
#ifdef MDSM_MATRIX_UNITS
constexpr TileKernels kMatrixUnits = {"AMX",
                                      pack,
                                      pack_pairs,
                                      pack_across,
                                      tile_multiply<MatrixUnits>,
                                      tile_multiply_gradient<MatrixUnits>,
                                      tile_finish};
constexpr const TileKernels* kMatrixTiles = &kMatrixUnits;
#else
constexpr const TileKernels* kMatrixTiles = nullptr;
#endif

}  // namespace
}  // namespace mdsm::engine::native
