// The inner loops of the convolution on matrix units (tile_convolution.h), compiled once per instruction set
// (kernels.h): packing of maps to bfloat16, products of tiles, and the epilogue. A tile is 16 rows of 64
// bytes, as AMX has them; where the CPU has no such units, AVX-512 BF16 multiplies tiles in memory. Without
// either the products are emulated, which is slow and for tests.
//
// Maps are packed as lists of positions: the rows of all images below each other, with zeros where the kernel
// reaches over a border. The result at a position comes from the inputs at that position and at fixed
// distances behind it, one for each tap, whatever the size of the maps. What is computed at positions that
// are no pixels is never stored.
#pragma once

#include <cstdint>

#include "engine/native/epilogue.h"

namespace mdsm::engine::native {

constexpr int64_t kTileRows = 16, kTileDepth = 32;  // of a tile; values of bfloat16 in a row
constexpr int64_t kTileValues = kTileRows * kTileDepth;

// What the loops keep in the first-level cache: positions of one block of 16 outputs, and the blocks of 32
// inputs that are added up before the sums go to memory.
constexpr int64_t kPositionsAtOnce = 64, kInputsAtOnce = 4;

// Which pixel stands at a position: at row r of image i, column s, it is (step * r + offset_y,
// step * s + offset_x), and zero where that is outside of the map.
struct PositionMap {
  MapShape map;
  int64_t images;
  int64_t rows, columns;  // positions of an image
  int64_t step, offset_y, offset_x;
};

struct RowRange {
  int64_t first, last;  // over all images; beyond the last image is zero
};

struct TileProduct {
  int64_t positions;  // a multiple of kPositionsAtOnce
  int64_t inputs;     // blocks of 32 input channels; of a gradient, of 16
  int64_t outputs;    // blocks of 16 output channels
  int64_t taps;
  const int64_t* offsets;  // in positions, of each tap
};

struct TileKernels {
  const char* name;
  // to[32 channels][count][32]: positions of the rows from `range.first` on. Packing fills `count` positions,
  // those behind the range with zeros.
  void (*pack)(const PositionMap& from, const Bfloat16* map, RowRange range, int64_t count, Bfloat16* to);
  // For weight gradients: pairs of positions interleaved, to[16 channels][count / 2][16][2], and in `odd` the
  // same with pairs that begin at odd positions, unless it is null. list: memory for two times
  // count + 2 positions of 16 channels.
  void (*pack_pairs)(const PositionMap& from, const Bfloat16* map, RowRange range, int64_t count,
                     Bfloat16* list, Bfloat16* even, Bfloat16* odd);
  // And tiles with positions along their rows, to[16 channels][count / 32][16][32].
  void (*pack_across)(const PositionMap& from, const Bfloat16* map, RowRange range, int64_t count,
                      Bfloat16* list, Bfloat16* to);
  // Weights of 32 x 32 channels as tiles, from square[row][32]: `turned` tiles of 16 rows each, with pairs of
  // columns as factors, and `paired` ones of 16 columns each, with pairs of rows. A tile that is null is left
  // out.
  void (*pack_weights)(const Bfloat16* square, Bfloat16* const* turned, Bfloat16* const* paired);
  // The positions of `range` of result = epilogue(products), from a packed map of `count` positions and
  // weights [16 outputs][32 inputs][tap][16][16][2]. sums: 2 kPositionsAtOnce x 16 floats, or where there
  // are more than kInputsAtOnce blocks of inputs, positions x 16 for each block of outputs.
  void (*convolve)(const TileProduct& product, const Bfloat16* map, int64_t count, const Bfloat16* weights,
                   float* sums, const EpilogueOf<Bfloat16>& epilogue, const PositionMap& to, RowRange range,
                   Bfloat16* result);
  // The same into a map of floats; the epilogue's op must be none.
  void (*convolve_wide)(const TileProduct& product, const Bfloat16* map, int64_t count,
                        const Bfloat16* weights, float* sums, const EpilogueOf<Bfloat16>& epilogue,
                        const PositionMap& to, RowRange range, float* result);
  // sums[16 outputs][16 inputs][tap][16][16] = the products over all positions, or += with `add`.
  void (*multiply_gradient)(const TileProduct& product, const Bfloat16* even, const Bfloat16* odd,
                            int64_t count, const Bfloat16* across, bool add, float* sums);
};

// Whether this CPU has matrix units and the system lets this process use them.
bool has_matrix_units();
bool has_bfloat16();      // those, or products of bfloat16 among its vector instructions
void require_bfloat16();  // an error where it has neither, unless the emulation is asked for
// Those of the matrix units, else of the vector instructions, else their emulation; or what MDSM_TILES names
// (emulated, avx512).
const TileKernels& tile_kernels();

// The nearest, of two the even one; NaN stays NaN.
[[gnu::always_inline]] inline Bfloat16 to_bfloat16(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  return value == value ? static_cast<Bfloat16>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) : 0x7fc0;
}
[[gnu::always_inline]] inline float to_float(Bfloat16 value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value) << 16);
}

}  // namespace mdsm::engine::native
