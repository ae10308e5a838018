// Included once per instruction set, with MDSM_TILE_ISA, MDSM_TILE_TABLE, MDSM_TILE_BYTES (of a vector) and
// MDSM_TILE_ROWS defined.
#include "linalg/tile.h"

namespace mdsm::linalg {
namespace {

// All rows x 2 vectors of sums stay in registers.
template <class T, int kRows>
void tile_product(int64_t k, const T* a, const T* b, T* out) {
  typedef T Vector __attribute__((vector_size(MDSM_TILE_BYTES), aligned(alignof(T))));
  constexpr int64_t kLanes = MDSM_TILE_BYTES / sizeof(T);
  Vector sum[kRows][2] = {};
  for (int64_t p = 0; p < k; ++p, a += kRows, b += 2 * kLanes) {
    const Vector left = *reinterpret_cast<const Vector*>(b);
    const Vector right = *reinterpret_cast<const Vector*>(b + kLanes);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      sum[row][0] += a[row] * left;
      sum[row][1] += a[row] * right;
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row)
    for (int half = 0; half < 2; ++half)
      *reinterpret_cast<Vector*>(out + (2 * row + half) * kLanes) = sum[row][half];
}

template <class T>
constexpr Tile<T> tile_of() {
  return {MDSM_TILE_ROWS, 2 * MDSM_TILE_BYTES / static_cast<int64_t>(sizeof(T)),
          tile_product<T, MDSM_TILE_ROWS>};
}

}  // namespace

extern const Tiles MDSM_TILE_TABLE;
const Tiles MDSM_TILE_TABLE = {MDSM_TILE_ISA, tile_of<float>(), tile_of<double>()};

}  // namespace mdsm::linalg
