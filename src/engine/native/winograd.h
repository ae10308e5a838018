// Winograd's convolution on channel-blocked feature maps: several times fewer multiplications than the direct
// one, for 3x3 kernels and for 4x4 stride-2 ones (3x3 with 2x2 mean pooling folded in). It cuts the maps into
// tiles of 4x4 results, and works on as many tiles at a time as keep the transformed values in the cache.
//
// Every result is computed by itself, in the same order whatever the batch and the number of threads. Weight
// gradients are a number of partial sums that the shape decides, added in order.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "engine/native/layout.h"
#include "engine/native/winograd_kernels.h"

namespace mdsm::engine::native {

// Channels are padded to whole blocks; height and width are those of the input, twice those of the result
// where pooled.
struct WinogradShape {
  int64_t n, in, out, height, width, block;
  bool pooled;

  int points() const { return pooled ? 5 : 6; }
  int64_t phases() const { return pooled ? 4 : 1; }
  int64_t out_height() const { return pooled ? height / 2 : height; }
  int64_t out_width() const { return pooled ? width / 2 : width; }
  int64_t tiles_down() const { return (out_height() + 3) / 4; }
  int64_t tiles_across() const { return (out_width() + 3) / 4; }
  int64_t tiles() const { return n * tiles_down() * tiles_across(); }
  MapShape input(int64_t planes) const { return {in, height, width, block, planes}; }
  MapShape result(int64_t planes) const { return {out, out_height(), out_width(), block, planes}; }
};

// Transformed weights of one direction: as they are kept, or what makes parts of them (rows of padding
// channels included) in the memory of who multiplies with them.
struct TransformedWeights {
  Panels kept;
  std::function<void(const WeightRange& range, Panels u)> make;
};

// The transformed weights of one convolution, made from the plain ones when they are asked for after a
// change, and kept.
class WinogradWeights {
 public:
  // Channels as they are, without padding.
  WinogradWeights(int64_t out, int64_t in, bool pooled, Layout layout);

  const PlainWeights& plain_shape() const { return shape_; }
  void set(const float* plain);  // (out, in, 3, 3); must stay until the next set()
  Panels forward();
  Panels backward(int phase);  // phase 0 .. 3 of a pooled one: 2 (y % 2) + x % 2 of the result's pixels
  // Parts of the same values, not kept; not of a pooled one.
  void make_forward(const WeightRange& range, Panels u) const;
  void make_backward(const WeightRange& range, Panels u) const;

 private:
  Panels memory(FloatBuffer& buffer, int64_t panels, int64_t rows) const;
  void clear_rows(Panels u, const WeightRange& range, int64_t channels) const;

  PlainWeights shape_;
  int64_t in_padded_, out_padded_;
  const float* plain_ = nullptr;
  FloatBuffer forward_, backward_[4];
  bool forward_ready_ = false, backward_ready_[4] = {};
};

class WinogradConvolution {
 public:
  explicit WinogradConvolution(const WinogradShape& shape);

  // Floats of scratch memory that the calls need.
  int64_t kept_weight_count() const;  // floats of transformed weights of one direction
  int64_t scratch_count() const;
  int64_t gradient_scratch_count() const;
  // Floats that each thread takes for itself beside them.
  int64_t thread_scratch_count() const;

  // dst = epilogue(conv(src))
  void forward(MapIn src, WinogradWeights& weights, const Epilogue& epilogue, MapOut dst,
               float* scratch) const;
  // diff_src = epilogue(conv^T(diff_dst))
  void backward(MapIn diff_dst, WinogradWeights& weights, const Epilogue& epilogue, MapOut diff_src,
                float* scratch) const;
  // Adds the weight gradient of shape.n maps to the plain one.
  void gradient(MapIn src, MapIn diff_dst, const WinogradWeights& weights, float* plain,
                float* scratch) const;

 private:
  struct Sizes {  // floats of the transformed tensors for `rows` tiles
    int64_t rows, v_point, v, m_point, m;
  };
  Sizes sizes(int64_t in, int64_t out) const;
  int64_t rows(int64_t in, int64_t out) const;  // tiles at a time
  bool by_points() const;
  // A set of results that share inputs and weights: all of them, or those of one phase.
  struct Part {
    std::vector<TileMap> inputs;
    TileMap output;
    TransformedWeights weights;
  };
  // Whether transformed weights are made for each use, as they cost more to keep than to make.
  bool makes_weights() const;
  TransformedWeights forward_weights(WinogradWeights& weights) const;
  TransformedWeights backward_weights(WinogradWeights& weights) const;  // not of a pooled one
  Panels made_panels(float* memory) const;
  void multiply_by_panels(const Part& part, int64_t tiles, int64_t in, int64_t out, Panels v, Panels m) const;
  void transform(const Part& part, const float* src, TileRange range, Panels v) const;
  void run(std::span<const Part> parts, const float* src, int64_t in, int64_t out, const Epilogue& epilogue,
           float* dst, float* scratch) const;
  // Each thread takes its own tiles through all three stages; or the threads share every stage.
  void run_by_tiles(std::span<const Part> parts, const Sizes& s, const float* src, int64_t in, int64_t out,
                    const Epilogue& epilogue, float* dst) const;
  void run_by_points(std::span<const Part> parts, const Sizes& s, const float* src, int64_t in, int64_t out,
                     const Epilogue& epilogue, float* dst, float* scratch) const;
  struct GradientPanels {
    Panels v, w, u;
  };
  GradientPanels gradient_panels(float* transformed, float* products) const;
  int64_t transformed_count() const;
  int64_t products_count() const;  // floats of a partial sum of the weight gradient
  void gradient_by_tiles(MapIn src, MapIn diff_dst, float* products) const;
  void gradient_by_points(MapIn src, MapIn diff_dst, float* transformed, float* products) const;
  Panels from_row(Panels panels, int64_t row) const;
  void transform_for_gradient(MapIn src, MapIn diff_dst, TileRange range, Panels v, Panels w) const;
  std::vector<TileMap> inputs(int64_t planes) const;
  TileMap results(int64_t planes) const;
  int64_t gradient_parts() const;

  WinogradShape shape_;
};

}  // namespace mdsm::engine::native
