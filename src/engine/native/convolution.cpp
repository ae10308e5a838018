#include "engine/native/convolution.h"

#include <algorithm>

namespace mdsm::engine::native {
namespace {

ConvolutionShape times(ConvolutionShape shape, int64_t terms) {
  shape.n *= std::max<int64_t>(terms, 1);
  return shape;
}

WinogradShape winograd_shape(const ConvolutionShape& s, Layout layout) {
  return {s.n, s.in, s.out, s.height, s.width, layout.block, s.kernel == 4};
}

PointwiseShape pointwise_shape(const ConvolutionShape& s, Layout layout) {
  return {s.n, s.in, s.out, s.height, s.width, layout.block};
}

TileShape tile_shape(const ConvolutionShape& s, Layout layout) {
  return {s.n, s.in, s.out, s.height, s.width, layout.block, s.kernel};
}

// Measured (docs/design/winograd.md). A rule and not a measurement on the spot: which way is taken changes
// the last bits of a result, and these must not depend on how busy the machine was. Where weights stay as
// they are (sampling) the rule leaves out n, so that an image's result does not depend on its batch.
bool winograd_pays(const ConvolutionShape& shape) {
  return shape.kernel != 1 && std::min(shape.out_height(), shape.out_width()) >= 4;
}

// In training the weights are transformed anew in every step, which takes this many tiles to earn back.
constexpr int64_t kLeastTilesInTraining = 32;

}  // namespace

ConvolutionWeights::ConvolutionWeights(int64_t out, int64_t in, int64_t kernel, bool pooled, Layout layout)
    : direct(out, in, kernel, pooled, layout),
      winograd(out, in, pooled, layout),
      pointwise(out, in, layout),
      tiles(out, in, kernel, pooled) {}

void ConvolutionWeights::set(const float* plain) {
  direct.set(plain);
  winograd.set(plain);
  pointwise.set(plain);
  tiles.set(plain);
}

Convolution::Convolution(const ConvolutionShape& shape, Layout layout, Arithmetic arithmetic,
                         int64_t gradient_terms)
    : shape_(shape),
      tiles_(arithmetic == Arithmetic::bfloat16),
      pointwise_(shape.kernel == 1),
      // Of maps smaller than 4x4 too: oneDNN has only a slow reference for their weight gradients.
      winograd_gradient_(arithmetic == Arithmetic::fast && shape.kernel != 1),
      winograd_(winograd_gradient_ && winograd_pays(shape) &&
                (gradient_terms == 0 || winograd_shape(shape, layout).tiles() >= kLeastTilesInTraining)),
      direct_(shape, layout),
      direct_terms_(times(shape, gradient_terms), layout),
      winograd_one_(winograd_shape(shape, layout)),
      winograd_terms_(winograd_shape(times(shape, gradient_terms), layout)),
      pointwise_one_(pointwise_shape(shape, layout)),
      pointwise_terms_(pointwise_shape(times(shape, gradient_terms), layout)),
      tiles_one_(tile_shape(shape, layout)),
      tiles_terms_(tile_shape(times(shape, gradient_terms), layout)) {
  if (tiles_) {
    thread_scratch_count_ = tiles_terms_.thread_scratch_count();
    if (gradient_terms > 0) scratch_count_ = tiles_terms_.gradient_scratch_count();
    return;
  }
  if (pointwise_) {
    thread_scratch_count_ = pointwise_one_.thread_scratch_count();
    if (gradient_terms > 0) scratch_count_ = pointwise_terms_.gradient_scratch_count();
    return;
  }
  if (winograd_) scratch_count_ = winograd_one_.scratch_count();
  if (gradient_terms > 0)
    scratch_count_ = std::max(scratch_count_, winograd_gradient_ ? winograd_terms_.gradient_scratch_count()
                                                                 : direct_terms_.gradient_scratch_count());
  if (winograd_) thread_scratch_count_ = winograd_one_.thread_scratch_count();
  if (gradient_terms > 0 && winograd_gradient_)
    thread_scratch_count_ = std::max(thread_scratch_count_, winograd_terms_.thread_scratch_count());
}

int64_t Convolution::kept_weight_count(bool back) const {
  const int64_t directions = back ? 2 : 1, values = shape_.in * shape_.out * shape_.kernel * shape_.kernel;
  if (tiles_) return directions * values / 2;  // two to a float
  return directions * (winograd_ ? winograd_one_.kept_weight_count() : values);
}

void Convolution::forward(MapIn src, ConvolutionWeights& weights, const Epilogue& epilogue, MapOut dst,
                          float* scratch) {
  if (pointwise_) return pointwise_one_.forward(src, weights.pointwise, epilogue, dst);
  winograd_ ? winograd_one_.forward(src, weights.winograd, epilogue, dst, scratch)
            : direct_.forward(src.data, weights.direct, epilogue, dst.data);
}

void Convolution::backward(MapIn diff_dst, ConvolutionWeights& weights, const Epilogue& epilogue,
                           MapOut diff_src, float* scratch) {
  if (pointwise_) return pointwise_one_.backward(diff_dst, weights.pointwise, epilogue, diff_src);
  winograd_ ? winograd_one_.backward(diff_dst, weights.winograd, epilogue, diff_src, scratch)
            : direct_.backward(diff_dst.data, weights.direct, epilogue, diff_src.data);
}

void Convolution::gradient(MapIn src, MapIn diff_dst, ConvolutionWeights& weights, float* plain,
                           float* scratch) {
  if (pointwise_) return pointwise_terms_.gradient(src, diff_dst, weights.pointwise, plain, scratch);
  winograd_gradient_ ? winograd_terms_.gradient(src, diff_dst, weights.winograd, plain, scratch)
                     : direct_terms_.gradient(src.data, diff_dst.data, weights.direct, plain, scratch);
}

}  // namespace mdsm::engine::native
