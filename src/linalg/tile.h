// The innermost loops of a matrix product, one table per instruction set. Internal to src/linalg.
#pragma once

#include <cstdint>
#include <vector>

namespace mdsm::linalg {

// out (rows x columns) = a (k x rows, packed) transposed * b (k x columns, packed).
template <class T>
struct Tile {
  int64_t rows, columns;
  void (*product)(int64_t k, const T* a, const T* b, T* out);
};

constexpr int64_t kMaxTile = 12 * 32;  // values of the largest tile

struct Tiles {
  const char* isa;
  Tile<float> single;
  Tile<double> dual;
};

// The table for this CPU, or the one that MDSM_ISA names.
const Tiles& tiles();
std::vector<const Tiles*> tile_variants();  // all that this CPU can run, the plainest first

}  // namespace mdsm::linalg
