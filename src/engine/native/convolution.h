// One convolution of the network in the way that is faster for its shape: Winograd's, direct (oneDNN), or
// a plain product where it is 1x1; or on matrix units.
#pragma once

#include <optional>

#include "engine/native/direct.h"
#include "engine/native/native_engine.h"
#include "engine/native/pointwise.h"
#include "engine/native/tile_convolution.h"
#include "engine/native/winograd.h"

namespace mdsm::engine::native {

using Arithmetic = NativeArithmetic;

class ConvolutionWeights {
 public:
  // plain: (out, in, k, k) without padding, k = 1 or 3; pooled folds 2x2 mean pooling into the 3x3.
  ConvolutionWeights(int64_t out, int64_t in, int64_t kernel, bool pooled, Layout layout);
  void set(const float* plain);  // must stay until the next set()

  DirectWeights direct;
  WinogradWeights winograd;
  PointwiseWeights pointwise;
  TileWeights tiles;
};

class Convolution {
 public:
  // gradient_terms: weight gradients are summed over so many times n maps; 0 for none, which is no training.
  Convolution(const ConvolutionShape& shape, Layout layout, Arithmetic arithmetic, int64_t gradient_terms);

  // Floats of scratch memory for any of the calls below.
  int64_t scratch_count() const { return scratch_count_; }
  // Floats that each thread takes for itself beside them.
  int64_t thread_scratch_count() const { return thread_scratch_count_; }
  // Floats of weights in other orders that are kept for it from call to call; back: for the way back, too.
  int64_t kept_weight_count(bool back) const;
  const ConvolutionShape& shape() const { return shape_; }

  // Whether maps may be parts of larger ones; oneDNN's may not.
  bool takes_parts() const { return winograd_ || pointwise_ || tiles_; }

  // dst = epilogue(conv(src))
  void forward(MapIn src, ConvolutionWeights& weights, const Epilogue& epilogue, MapOut dst, float* scratch);
  // diff_src = epilogue(conv^T(diff_dst))
  void backward(MapIn diff_dst, ConvolutionWeights& weights, const Epilogue& epilogue, MapOut diff_src,
                float* scratch);
  // Adds the weight gradient of gradient_terms * n maps to the plain one; in training only.
  void gradient(MapIn src, MapIn diff_dst, ConvolutionWeights& weights, float* plain, float* scratch);

  // The same on maps in bfloat16, with arithmetic of that name. Result: Bfloat16, or float for the result of
  // the network.
  using HalfMap = MapInOf<Bfloat16>;
  template <class Result>
  void forward(HalfMap src, ConvolutionWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
               MapOutOf<Result> dst, float*) {
    tiles_one_.forward(src, weights.tiles, epilogue, dst);
  }
  template <class Result>
  void backward(HalfMap diff_dst, ConvolutionWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                MapOutOf<Result> diff_src, float*) {
    tiles_one_.backward(diff_dst, weights.tiles, epilogue, diff_src);
  }
  void gradient(HalfMap src, HalfMap diff_dst, ConvolutionWeights& weights, float* plain, float* scratch) {
    tiles_terms_.gradient(src, diff_dst, weights.tiles, plain, scratch);
  }

 private:
  ConvolutionShape shape_;
  bool tiles_, pointwise_;
  bool winograd_gradient_, winograd_;  // weight gradients; the other passes
  DirectConvolution direct_, direct_terms_;
  WinogradConvolution winograd_one_, winograd_terms_;
  PointwiseConvolution pointwise_one_, pointwise_terms_;
  TileConvolution tiles_one_, tiles_terms_;
  int64_t scratch_count_ = 0, thread_scratch_count_ = 0;
};

}  // namespace mdsm::engine::native
