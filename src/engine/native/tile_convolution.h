// The convolution in bfloat16 on matrix units: maps and weights are bfloat16, sums and the epilogue's work
// float32. 1x1 and 3x3 kernels and 4x4 stride-2 ones (3x3 with 2x2 mean pooling folded in), any number of
// channels, any size of maps; docs/design/matrix_units.md.
//
// Every result is computed by itself, and weight gradients are a fixed number of sums added in order: the
// same bits with any number of threads.
#pragma once

#include <vector>

#include "engine/native/tile_kernels.h"
#include "engine/native/tile_weights.h"

namespace mdsm::engine::native {

// Channels are padded to whole blocks; height and width are those of the input, twice those of the result
// where pooled.
struct TileShape {
  int64_t n, in, out, height, width, block;
  int64_t kernel;  // 1, 3, or 4 where pooled

  bool pooled() const { return kernel == 4; }
  int64_t reach() const { return pooled() ? 2 : kernel; }  // taps of a side, of one phase
  int64_t phases() const { return pooled() ? 4 : 1; }
  int64_t out_height() const { return pooled() ? height / 2 : height; }
  int64_t out_width() const { return pooled() ? width / 2 : width; }
  MapShape input(int64_t planes) const { return {in, height, width, block, planes}; }
  MapShape result(int64_t planes) const { return {out, out_height(), out_width(), block, planes}; }
};

class TileConvolution {
 public:
  explicit TileConvolution(const TileShape& shape);

  int64_t thread_scratch_count() const;    // floats that each thread takes for itself, at most
  int64_t gradient_scratch_count() const;  // floats

  // dst = epilogue(conv(src)), in bfloat16, or wide, in floats, with an epilogue without op.
  using Map = MapInOf<Bfloat16>;
  template <class Value>
  void forward(Map src, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
               MapOutOf<Value> dst) const;
  // diff_src = epilogue(conv^T(diff_dst))
  template <class Value>
  void backward(Map diff_dst, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                MapOutOf<Value> diff_src) const;
  // Adds the weight gradient of shape.n maps to the plain one.
  void gradient(Map src, Map diff_dst, const TileWeights& weights, float* plain, float* scratch) const;

 private:
  // Results that share weights: all of them, or those of one phase.
  struct Part {
    PositionMap output;
    const Bfloat16* weights;
    std::vector<int64_t> offsets;  // of the taps
  };
  PositionMap positions(const MapShape& map, int64_t step, int64_t offset_y, int64_t offset_x) const;
  std::vector<PositionMap> inputs(int64_t planes) const;
  template <class Value>
  void run(const std::vector<PositionMap>& inputs, const std::vector<Part>& parts, const Bfloat16* src,
           const EpilogueOf<Bfloat16>& epilogue, Value* dst) const;
  std::vector<int64_t> offsets(int64_t first_row, int64_t first_column) const;
  void add_products(const std::vector<PositionMap>& from, const Bfloat16* src, Map diff_dst, RowRange range,
                    int64_t begin, int64_t end, bool add, float* sum) const;
  int64_t rows_for(int64_t positions) const;  // at least one
  int64_t gradient_rows() const;
  int64_t rows() const { return shape_.n * rows_; }
  int64_t positions_for(int64_t rows) const;  // with what fills them up
  // Positions that taps of these rows reach, which go up to `furthest`.
  int64_t packed_count(int64_t rows, int64_t furthest) const;
  int64_t sums() const;
  int64_t sum_count() const;

  TileShape shape_;
  int64_t rows_, columns_;        // positions of an image
  std::vector<int64_t> offsets_;  // of the taps of inputs()
};

}  // namespace mdsm::engine::native
