// From maps in bfloat16 to lists of positions, pairs and tiles (tile_kernels.h), included by tile_impl.h.
#include "engine/native/tile_kernels.h"
#include "engine/native/vectors_impl.h"

namespace mdsm::engine::native {
namespace {

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
  const __m256i first = _mm256_load_si256(reinterpret_cast<const __m256i*>(a)),
                second = _mm256_load_si256(reinterpret_cast<const __m256i*>(b));
  const __m512i line = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
  const auto values = __builtin_bit_cast(HalfVector<32>, line);
  *reinterpret_cast<HalfVector<32>*>(to) =
      __builtin_shufflevector(values, values, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24,
                              9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
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
  for (int r = 0; r < B; ++r) {
    if (r & H) continue;
    const I a = rows[r], b = rows[r + H];
    rows[r] = __builtin_shufflevector(a, b, ((Lane & H) ? B + Lane - H : Lane)...);
    rows[r + H] = __builtin_shufflevector(a, b, ((Lane & H) ? B + Lane : Lane + H)...);
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

}  // namespace
}  // namespace mdsm::engine::native
