// The inner loops of Winograd's convolution, compiled once per instruction set (see kernels.h). Tiles of 4x4
// results; a 3x3 kernel works on 6x6 transform points, the 2x2 kernels that a 4x4 stride-2 convolution falls
// into on 5x5. docs/design/winograd.md has the matrices.
//
// Transformed tensors are panels: element (point, channel c, row) lies at
//     data + point * point_stride + c / block * panel_stride + row * block + c % block,
// where a row is a tile, or the other channel of a weight. One product per point then turns inputs into
// results.
#pragma once

#include <cstdint>

#include "engine/native/epilogue.h"

namespace mdsm::engine::native {

struct Panels {
  float* data;
  int64_t point_stride, panel_stride;
};

// How tiles lie on feature maps. Pixel i of tile t along a side is step * (4 t + i) + offset; what falls
// outside the map is zero, and never stored.
struct TileMap {
  MapShape map;
  int64_t down, across;  // tiles of an image
  int64_t step;          // 1, or 2 for one of the four interleaved phases
  int64_t offset_y, offset_x;
};

struct TileRange {
  int64_t first, count;  // over all images, row by row
};

// Which products to form: rows x inner times inner x panels * block.
struct ProductShape {
  int64_t rows, inner, panels, block;
  bool add = false;  // to what is there
};

// Some of the transformed weights: panels of one side's channels, rows that are channels of the other.
struct WeightRange {
  int64_t first_panel, panels, first_row, rows;
};

// A 3x3 kernel, or that of a 4x4 stride-2 convolution folded from 3x3 and 2x2 mean pooling.
struct PlainWeights {
  int64_t out, in;  // channels without padding
  int64_t block;
  bool pooled;
};

struct WinogradKernels {
  // B^T d B: panels starting at `v`, one row a tile. points: 5 or 6 along a side.
  void (*input)(int points, const TileMap& tiles, const float* map, TileRange range, Panels v);
  // A y A^T: the transform of a result's gradient, for weight gradients.
  void (*gradient)(int points, const TileMap& tiles, const float* map, TileRange range, Panels w);
  // A^T m A, the epilogue, and the store.
  void (*output)(int points, const TileMap& tiles, Panels m, TileRange range, const Epilogue& epilogue,
                 float* map);
  // For points first .. last-1: m = v u, or m += v u, with tiles as rows and inner channels.
  void (*multiply)(int64_t first, int64_t last, const ProductShape& shape, Panels v, Panels u, Panels m);
  // For points first .. last-1: u += v^T w, or u = v^T w, with channels as rows and tiles as inner index.
  void (*multiply_tiles)(int64_t first, int64_t last, const ProductShape& shape, Panels v, Panels w,
                         Panels u);
  // G g G^T of some panels of the output channels, in the order forward products want; `u` begins with the
  // range. Rows are the input channels; of a pooled kernel, whose range has all of them, those of the four
  // phases one after the other. Rows of padding channels are not written.
  void (*weights)(const PlainWeights& shape, const float* plain, const WeightRange& range, Panels u);
  // The same for the way back: panels of input channels, rows are output channels, taps turned round. Of a
  // pooled kernel, only phase (py, px) of the pixels of the result.
  void (*weights_back)(const PlainWeights& shape, const float* plain, int py, int px,
                       const WeightRange& range, Panels u);
  // Adds G^T u G of some panels to the plain weights: the transpose of `weights`.
  void (*add_weights_gradient)(const PlainWeights& shape, Panels u, int64_t first, int64_t last,
                               float* plain);
};

}  // namespace mdsm::engine::native
