// The 1x1 convolution on channel-blocked feature maps: a matrix product on the maps as they lie, with the
// epilogue done while the results are in the cache.
//
// Every result is computed by itself, and weight gradients are a fixed number of sums added in order: the
// same bits with any number of threads.
#pragma once

#include "core/tensor.h"
#include "engine/native/layout.h"
#include "engine/native/winograd_kernels.h"

namespace mdsm::engine::native {

// Channels are padded to whole blocks.
struct PointwiseShape {
  int64_t n, in, out, height, width, block;

  MapShape input(int64_t planes) const { return {in, height, width, block, planes}; }
  MapShape result(int64_t planes) const { return {out, height, width, block, planes}; }
};

// The weights of one convolution in the two orders the products want, made when they are asked for after a
// change.
class PointwiseWeights {
 public:
  // Channels as they are, without padding.
  PointwiseWeights(int64_t out, int64_t in, Layout layout);

  void set(const float* plain);  // (out, in); must stay until the next set()
  Panels forward();
  Panels backward();
  // Adds a gradient that lies as `forward` does to the plain one.
  void add_gradient(const float* gradient, float* plain) const;

 private:
  int64_t out_, in_, block_, out_padded_, in_padded_;
  const float* plain_ = nullptr;
  FloatBuffer forward_, backward_;
  bool forward_ready_ = false, backward_ready_ = false;
};

class PointwiseConvolution {
 public:
  explicit PointwiseConvolution(const PointwiseShape& shape) : shape_(shape) {}

  int64_t thread_scratch_count() const;  // floats that each thread takes for itself
  int64_t gradient_scratch_count() const;

  // dst = epilogue(conv(src))
  void forward(MapIn src, PointwiseWeights& weights, const Epilogue& epilogue, MapOut dst) const;
  // diff_src = epilogue(conv^T(diff_dst))
  void backward(MapIn diff_dst, PointwiseWeights& weights, const Epilogue& epilogue, MapOut diff_src) const;
  // Adds the weight gradient of shape.n maps to the plain one.
  void gradient(MapIn src, MapIn diff_dst, const PointwiseWeights& weights, float* plain,
                float* scratch) const;

 private:
  void run(const MapShape& from, const float* src, Panels weights, const MapShape& to,
           const Epilogue& epilogue, float* dst) const;
  int64_t rows_at_once() const;  // of a map
  int64_t sums() const;

  PointwiseShape shape_;
};

}  // namespace mdsm::engine::native
