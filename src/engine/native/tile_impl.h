// The bodies of tile_kernels.h, included once per instruction set by kernels_impl.h, whose rules hold here
// too.
#include "engine/native/tile_kernels.h"
#include "engine/native/vectors_impl.h"

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

#if defined(__AVX512F__) && defined(__linux__)
#define MDSM_MATRIX_UNITS
// AMX. The shape of the tiles is loaded for every call and given back after it, so that nothing depends on
// what else a thread did.
struct MatrixUnits {
  struct Stores {
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

// Rows of positions as runs of pixels and of zeros: copy(position, from, count) and zeros(position, count),
// in order. `from` is null where the blocks from c on do not belong to the map.
template <class Copy, class Zeros>
MDSM_INLINE void for_runs(const PositionMap& from, const Bfloat16* map, int64_t c, RowRange range,
                          int64_t count, const Copy& copy, const Zeros& zeros) {
  const int64_t begin = (from.step - 1 - from.offset_x) / from.step,
                behind = (from.map.width - from.offset_x + from.step - 1) / from.step,
                end = behind < from.columns ? behind : from.columns;
  int64_t image = range.first / from.rows, row = range.first % from.rows, position = 0;
  for (int64_t r = range.first; r < range.last; ++r, position += from.columns) {
    const int64_t y = from.step * row + from.offset_y;
    if (c < from.map.blocks() && image < from.images && y >= 0 && y < from.map.height) {
      zeros(position, begin);
      copy(position + begin,
           map + (image * from.map.stride() + c) * from.map.plane() +
               (y * from.map.width + from.step * begin + from.offset_x) * from.map.block,
           end - begin);
      zeros(position + end, from.columns - end);
    } else {
      zeros(position, from.columns);
    }
    if (++row == from.rows) row = 0, ++image;
  }
  zeros(position, count - position);
}

template <int B>
MDSM_INLINE void move_half(const Bfloat16* from, Bfloat16* to) {
  *reinterpret_cast<HalfVector<B>*>(to) = *reinterpret_cast<const HalfVector<B>*>(from);
}

// A block of channels at every position, `step` values from one to the next.
template <int B>
void copy_positions(const PositionMap& from, const Bfloat16* map, int64_t c, RowRange range, int64_t count,
                    Bfloat16* to, int64_t step) {
  const HalfVector<B> zero = {};
  for_runs(
      from, map, c, range, count,
      [&](int64_t position, const Bfloat16* pixels, int64_t length) {
        Bfloat16* at = to + position * step;
        const int64_t stride = from.step * B;
        for (int64_t s = 0; s < length; ++s) move_half<B>(pixels + s * stride, at + s * step);
      },
      [&](int64_t position, int64_t length) {
        for (int64_t s = 0; s < length; ++s)
          *reinterpret_cast<HalfVector<B>*>(to + (position + s) * step) = zero;
      });
}

template <int B>
void pack_block(const PositionMap& from, const Bfloat16* map, RowRange range, int64_t count, Bfloat16* to) {
  constexpr int64_t kBlocks = kTileDepth / B;
  const int64_t all = (from.map.blocks() + kBlocks - 1) / kBlocks * kBlocks, plane = from.map.plane();
  for (int64_t c = 0; c < all; c += kBlocks) {
    Bfloat16* const to_block = to + c / kBlocks * count * kTileDepth;
    if (c + kBlocks > from.map.blocks()) {  // some of them are not there
      for (int64_t b = 0; b < kBlocks; ++b)
        copy_positions<B>(from, map, c + b, range, count, to_block + b * B, kTileDepth);
      continue;
    }
    const HalfVector<kTileDepth> zero = {};
    for_runs(
        from, map, c, range, count,
        [&](int64_t position, const Bfloat16* pixels, int64_t length) {
          Bfloat16* const at = to_block + position * kTileDepth;
          const int64_t stride = from.step * B;
          for (int64_t s = 0; s < length; ++s)
            for (int64_t b = 0; b < kBlocks; ++b)
              move_half<B>(pixels + b * plane + s * stride, at + s * kTileDepth + b * B);
        },
        [&](int64_t position, int64_t length) {
          for (int64_t s = 0; s < length; ++s)
            *reinterpret_cast<HalfVector<kTileDepth>*>(to_block + (position + s) * kTileDepth) = zero;
        });
  }
}

// Two positions of 16 channels as pairs of values.
#if defined(__AVX512BW__)
MDSM_INLINE void put_pair(const Bfloat16* a, const Bfloat16* b, Bfloat16* to) {
  const HalfVector<32> order = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m256i first = _mm256_load_si256(reinterpret_cast<const __m256i*>(a)),
                second = _mm256_load_si256(reinterpret_cast<const __m256i*>(b));
  const __m512i line = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
  *reinterpret_cast<HalfVector<32>*>(to) = __builtin_shuffle(__builtin_bit_cast(HalfVector<32>, line), order);
}
#else
MDSM_INLINE void put_pair(const Bfloat16* a, const Bfloat16* b, Bfloat16* to) {
  using U = VectorType<8>::Unsigned;
  for (int64_t half = 0; half < 16; half += 8)
    *reinterpret_cast<U*>(to + 2 * half) = widened<8>(a + half) | (widened<8>(b + half) << 16);
}
#endif

// The pairs of neighbouring positions of 16 channels: those that begin at an even one to even[pair][16][2],
// the others, if asked for, to odd.
struct PairList {
  Bfloat16 *even, *odd;

  MDSM_INLINE void put(int64_t position, const Bfloat16* a, const Bfloat16* b) const {
    if (position % 2 == 0)
      put_pair(a, b, even + position * kTileRows);
    else if (odd && position > 0)
      put_pair(a, b, odd + (position - 1) * kTileRows);
  }
};

// 16 channels at every position but the first, and a zero before and behind them, one after the other.
template <int B>
MDSM_INLINE void list_channels(const PositionMap& from, const Bfloat16* map, int64_t c16, RowRange range,
                               int64_t count, Bfloat16* list) {
  for (int64_t b = 0; b < kTileRows / B; ++b)
    copy_positions<B>(from, map, c16 * (kTileRows / B) + b, range, count + 1, list + b * B, kTileRows);
}
MDSM_INLINE int64_t blocks_of_16(const PositionMap& from) {
  return (from.map.channels + kTileRows - 1) / kTileRows;
}

template <int B>
MDSM_INLINE void pair_channels(const PositionMap& from, const Bfloat16* map, int64_t c16, RowRange range,
                               int64_t count, Bfloat16* list, const PairList& to) {
  if constexpr (B == kTileRows) {
    const int64_t behind_row = (from.map.width - from.offset_x + from.step - 1) / from.step;
    const bool zeros_between = from.offset_x < 0 || behind_row < from.columns;
    if (zeros_between || (!to.odd && from.columns % 2 == 0)) {  // no pair of two rows
      alignas(64) static constexpr Bfloat16 zero[kTileRows] = {};
      for_runs(
          from, map, c16, range, count,
          [&](int64_t position, const Bfloat16* pixels, int64_t length) {
            const int64_t stride = from.step * B, behind = position + length - 1;
            if (position > 0) to.put(position - 1, zero, pixels);
            int64_t s = 0;
            if (to.odd) {
              for (; s < length - 1; ++s)
                to.put(position + s, pixels + s * stride, pixels + (s + 1) * stride);
            } else {
              for (s = position % 2; s < length - 1; s += 2)
                put_pair(pixels + s * stride, pixels + (s + 1) * stride,
                         to.even + (position + s) * kTileRows);
            }
            if (behind < count) to.put(behind, pixels + (length - 1) * stride, zero);
          },
          [&](int64_t position, int64_t length) {
            for (int64_t s = 0; s < length - 1; ++s) to.put(position + s, zero, zero);
            // With the first pixel of a row, or as a pair of zeros that end in nothing.
            if (length > 0) to.put(position + length - 1, zero, zero);
          });
      return;
    }
  }
  list_channels<B>(from, map, c16, range, count, list);
  for (int64_t p = 0; p < count; ++p) to.put(p, list + p * kTileRows, list + (p + 1) * kTileRows);
}

template <int B>
void pack_pairs_block(const PositionMap& from, const Bfloat16* map, RowRange range, int64_t count,
                      Bfloat16* list, Bfloat16* even, Bfloat16* odd) {
  for (int64_t c = 0; c < blocks_of_16(from); ++c)
    pair_channels<B>(from, map, c, range, count, list,
                     {even + c * count * kTileRows, odd ? odd + c * count * kTileRows : nullptr});
}

// One stage of a transposition: blocks of H x H change places across the diagonal of blocks of 2H x 2H.
template <int B, int H, int... Lane>
MDSM_INLINE void exchange(typename VectorType<B>::Integer* rows) {
  using I = typename VectorType<B>::Integer;
  const I upper = {((Lane & H) ? B + Lane - H : Lane)...}, lower = {((Lane & H) ? B + Lane : Lane + H)...};
  for (int r = 0; r < B; ++r) {
    if (r & H) continue;
    const I a = rows[r], b = rows[r + H];
    rows[r] = __builtin_shuffle(a, b, upper);
    rows[r + H] = __builtin_shuffle(a, b, lower);
  }
}
MDSM_INLINE void transpose(VectorType<8>::Integer* rows) {
  exchange<8, 4, 0, 1, 2, 3, 4, 5, 6, 7>(rows);
  exchange<8, 2, 0, 1, 2, 3, 4, 5, 6, 7>(rows);
  exchange<8, 1, 0, 1, 2, 3, 4, 5, 6, 7>(rows);
}
#if defined(__AVX512F__)
MDSM_INLINE void transpose(VectorType<16>::Integer* rows) {
  exchange<16, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>(rows);
  exchange<16, 4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>(rows);
  exchange<16, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>(rows);
  exchange<16, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>(rows);
}
#endif

// A tile of 16 pairs of 16 channels, transposed.
MDSM_INLINE void transpose_tile(const Bfloat16* pairs, Bfloat16* to) {
#if defined(__AVX512F__)
  constexpr int B = 16;
#else
  constexpr int B = 8;
#endif
  using I = VectorType<B>::Integer;
  for (int64_t top = 0; top < kTileRows; top += B)
    for (int64_t left = 0; left < kTileRows; left += B) {
      I rows[B];
      for (int64_t r = 0; r < B; ++r)
        rows[r] = *reinterpret_cast<const I*>(pairs + ((top + r) * kTileRows + left) * 2);
      transpose(rows);
      for (int64_t r = 0; r < B; ++r)
        *reinterpret_cast<I*>(to + ((left + r) * kTileRows + top) * 2) = rows[r];
    }
}

template <int B>
void pack_across_block(const PositionMap& from, const Bfloat16* map, RowRange range, int64_t count,
                       Bfloat16* list, Bfloat16* to) {
  Bfloat16* const pairs = list + (count + 2) * kTileRows;
  for (int64_t c = 0; c < blocks_of_16(from); ++c) {
    pair_channels<B>(from, map, c, range, count, list, {pairs, nullptr});
    for (int64_t p = 0; p < count; p += kTileDepth, to += kTileValues)
      transpose_tile(pairs + p * kTileRows, to);
  }
}

void pack_weights(const Bfloat16* square, Bfloat16* const* turned, Bfloat16* const* paired) {
  for (int64_t half = 0; half < 2; ++half) {
    if (turned[half]) transpose_tile(square + half * kTileRows * kTileDepth, turned[half]);
    if (!paired[half]) continue;
    for (int64_t row = 0; row < kTileDepth; row += 2) {
      const Bfloat16* const from = square + row * kTileDepth + half * kTileRows;
      put_pair(from, from + kTileDepth, paired[half] + row * kTileRows);
    }
  }
}

void pack(const PositionMap& from, const Bfloat16* map, RowRange range, int64_t count, Bfloat16* to) {
  with_block(from.map.block, [&](auto b) { pack_block<decltype(b)::kValue>(from, map, range, count, to); });
}
void pack_pairs(const PositionMap& from, const Bfloat16* map, RowRange range, int64_t count, Bfloat16* list,
                Bfloat16* even, Bfloat16* odd) {
  with_block(from.map.block, [&](auto b) {
    pack_pairs_block<decltype(b)::kValue>(from, map, range, count, list, even, odd);
  });
}
void pack_across(const PositionMap& from, const Bfloat16* map, RowRange range, int64_t count, Bfloat16* list,
                 Bfloat16* to) {
  with_block(from.map.block,
             [&](auto b) { pack_across_block<decltype(b)::kValue>(from, map, range, count, list, to); });
}

// The epilogue of one block of 16 outputs after the other, a few pixels at a time: so it runs between the
// products of the next block, which leave the vector units idle.
template <class Tiles, int B, EpilogueOp O, class Result>
class Finisher {
 public:
  MDSM_INLINE Finisher(const EpilogueOf<Bfloat16>& epilogue, const PositionMap& to, RowRange range,
                       Result* map)
      : e_(epilogue),
        to_(to),
        blocks_(to.map.channels / B),
        columns_((to.map.width - to.offset_x + to.step - 1) / to.step),
        first_image_(range.first / to.rows),
        first_row_(range.first % to.rows),
        map_(map) {}

  // The next positions of a block of outputs, from its first one on where `outputs` is another than before.
  MDSM_INLINE void begin(int64_t outputs, int64_t count, const float* sums) {
    if (outputs != outputs_) {
      outputs_ = outputs;
      image_ = first_image_;
      row_ = first_row_;
      column_ = 0;
      for (int64_t b = 0; b < kBlocks; ++b)
        bias_[b] = e_.bias && outputs * kBlocks + b < blocks_ ? load<B>(e_.bias + (outputs * kBlocks + b) * B)
                                                              : Vector<B>{};
    }
    left_ = count;
    gap_ = 0;
    sums_ = reinterpret_cast<const Vector<B>*>(sums);
  }

  MDSM_INLINE void advance(int64_t pixels) {
    for (; pixels > 0; --pixels) {
      if (run_ == 0 && !next_run()) return;
      finish();
    }
  }
  [[gnu::noinline]] void complete() {
    while (run_ > 0 || left_ > 0) advance(kPositionsAtOnce);
  }

 private:
  static constexpr int64_t kBlocks = kTileRows / B;

  // To the next pixel that is one, and how many follow it; false where this block of positions ends.
  [[gnu::noinline]] bool next_run() {
    while (left_ > 0) {
      const int64_t rest = to_.columns - column_, run = rest < left_ ? rest : left_,
                    y = to_.step * row_ + to_.offset_y,
                    pixels = columns_ - column_ < run ? columns_ - column_ : run, from = column_;
      left_ -= run;
      column_ += run;
      const int64_t image = image_;
      if (column_ == to_.columns) {
        column_ = 0;
        if (++row_ == to_.rows) row_ = 0, ++image_;
      }
      sums_ += gap_ * kBlocks;
      gap_ = run;
      if (pixels <= 0 || image >= to_.images || y >= to_.map.height) continue;
      gap_ = run - pixels;
      run_ = pixels;
      place(image, y, to_.step * from + to_.offset_x);
      return true;
    }
    gap_ = 0;
    return false;
  }

  MDSM_INLINE void place(int64_t image, int64_t y, int64_t x) {
    const int64_t c = outputs_ * kBlocks, plane = to_.map.plane(), pixel = (y * to_.map.width + x) * B;
    at_ = (image * blocks_ + c) * plane + pixel;
    result_ = map_ + (image * to_.map.stride() + c) * plane + pixel;
    const int64_t add_plane = image * (e_.add_planes > 0 ? e_.add_planes : blocks_) + c;
    x_ = x;
    if (e_.add)
      add_ = e_.add + (e_.add_unpooled ? add_plane * (plane / 4) + (y / 2) * (to_.map.width / 2) * B
                                       : add_plane * plane + pixel - x * B);
  }

  MDSM_INLINE void finish() {
    for (int64_t b = 0; b < kBlocks; ++b) {
      if (b > 0 && outputs_ * kBlocks + b >= blocks_) break;
      const int64_t plane = b * to_.map.plane();
      const Bfloat16* add = nullptr;
      if (e_.add) add = add_ + (e_.add_unpooled ? plane / 4 + x_ / 2 * B : plane + x_ * B);
      finish_value<B, O, typename Tiles::Stores>(e_, sums_[b] + bias_[b], at_ + plane, add, result_ + plane);
    }
    sums_ += kBlocks;
    at_ += to_.step * B;
    result_ += to_.step * B;
    x_ += to_.step;
    --run_;
  }

  const EpilogueOf<Bfloat16>& e_;
  const PositionMap& to_;
  int64_t blocks_, columns_, first_image_, first_row_;
  Result* map_;
  Vector<B> bias_[kBlocks];
  int64_t outputs_ = -1, image_ = 0, row_ = 0, column_ = 0;
  int64_t left_ = 0, run_ = 0, gap_ = 0;  // positions not looked at; pixels of this run; positions behind it
  int64_t at_ = 0, x_ = 0;
  Result* result_ = nullptr;
  const Bfloat16* add_ = nullptr;
  const Vector<B>* sums_ = nullptr;
};

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
template <class Tiles, int Outputs, int Taps>
void multiply_gradient_row(Tiles& tiles, int64_t positions, const Bfloat16* left,
                           const Bfloat16* const* right, bool add, float* sums, const GradientSteps& step) {
  float* const second = sums + step.sums;
  if (add) {
    tiles.template load_sum<0>(sums);
    if constexpr (Taps > 1) tiles.template load_sum<1>(sums + 256);
    if constexpr (Taps > 2) tiles.template load_sum<2>(sums + 2 * 256);
    if constexpr (Outputs > 1) {
      tiles.template load_sum<3>(second);
      if constexpr (Taps > 1) tiles.template load_sum<4>(second + 256);
      if constexpr (Taps > 2) tiles.template load_sum<5>(second + 2 * 256);
    }
  } else {
    tiles.template zero<0>();
    if constexpr (Taps > 1) tiles.template zero<1>();
    if constexpr (Taps > 2) tiles.template zero<2>();
    if constexpr (Outputs > 1) {
      tiles.template zero<3>();
      if constexpr (Taps > 1) tiles.template zero<4>();
      if constexpr (Taps > 2) tiles.template zero<5>();
    }
  }
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
  tiles.template store_sum<0>(sums);
  if constexpr (Taps > 1) tiles.template store_sum<1>(sums + 256);
  if constexpr (Taps > 2) tiles.template store_sum<2>(sums + 2 * 256);
  if constexpr (Outputs > 1) {
    tiles.template store_sum<3>(second);
    if constexpr (Taps > 1) tiles.template store_sum<4>(second + 256);
    if constexpr (Taps > 2) tiles.template store_sum<5>(second + 2 * 256);
  }
}

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
          multiply_gradient_row<Tiles, 2, Taps>(tiles, product.positions, left, right, add, to, step);
        else
          multiply_gradient_row<Tiles, 1, Taps>(tiles, product.positions, left, right, add, to, step);
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
#ifdef MDSM_MATRIX_UNITS
constexpr TileKernels kMatrixUnits = tile_kernels_of<MatrixUnits>("AMX");
constexpr const TileKernels* kMatrixTiles = &kMatrixUnits;
#else
constexpr const TileKernels* kMatrixTiles = nullptr;
#endif

}  // namespace
}  // namespace mdsm::engine::native
