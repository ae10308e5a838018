// The direct convolution, by oneDNN, on channel-blocked feature maps: a thin wrapper that owns the primitives
// of one shape and takes raw pointers. What oneDNN cannot do on the way is a pass over the result.
//
// oneDNN runs on one thread at a time; the threads are core/threads.h's, each with images of its own. Weight
// gradients are a number of partial sums that the shape decides, added in order.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "engine/native/epilogue.h"
#include "engine/native/layout.h"
#include "engine/native/onednn.h"

namespace mdsm::engine::native {

// One oneDNN CPU engine for the process.
const dnnl::engine& dnnl_engine();

// Channels are already padded to whole blocks.
struct ConvolutionShape {
  int64_t n, in, out;
  int64_t height, width;  // of the input
  int64_t kernel;         // 1, 3, or 4 (a 3x3 with 2x2 mean pooling folded in, stride 2)

  int64_t stride() const { return kernel == 4 ? 2 : 1; }
  int64_t pad() const { return kernel == 1 ? 0 : 1; }
  int64_t out_height() const { return height / stride(); }
  int64_t out_width() const { return width / stride(); }
  // Floating-point operations of one pass by the direct algorithm.
  double flop() const {
    return 2.0 * static_cast<double>(n * in * out) *
           static_cast<double>(out_height() * out_width() * kernel * kernel);
  }
};

// The weights of one convolution in the orders oneDNN's primitives ask for, made when they are asked for
// after a change.
class DirectWeights {
 public:
  // plain: (out, in, k, k) with unpadded channels, k = 1 or 3; pooled folds the 3x3 into 4x4 stride 2.
  DirectWeights(int64_t out, int64_t in, int64_t kernel, bool pooled, Layout layout);

  int64_t kernel() const { return pooled_ ? 4 : kernel_; }
  void set(const float* plain);  // must stay until the next set()
  // The weights in the order `wanted`.
  const float* get(const dnnl::memory::desc& wanted);
  // Adds a gradient that lies in the order `given` to the plain one.
  void add_gradient(const dnnl::memory::desc& given, const float* gradient, float* plain);

 private:
  struct Copy {
    dnnl::memory::desc desc;
    FloatBuffer values;
    uint64_t version = 0;
  };
  dnnl::memory::desc padded_desc() const;
  void make_padded();

  int64_t out_, in_, kernel_, out_padded_, in_padded_;
  bool pooled_;
  const float* plain_ = nullptr;
  FloatBuffer padded_;  // (out_padded, in_padded, kernel(), kernel())
  uint64_t version_ = 0, padded_version_ = 0;
  std::vector<std::unique_ptr<Copy>> copies_;
};

class DirectConvolution {
 public:
  DirectConvolution(const ConvolutionShape& shape, Layout layout);

  // dst = epilogue(conv(src))
  void forward(const float* src, DirectWeights& weights, const Epilogue& epilogue, float* dst);
  // diff_src = epilogue(conv^T(diff_dst))
  void backward(const float* diff_dst, DirectWeights& weights, const Epilogue& epilogue, float* diff_src);
  // Adds the weight gradient to `plain`. scratch: at least gradient_scratch_count() floats.
  void gradient(const float* src, const float* diff_dst, DirectWeights& weights, float* plain,
                float* scratch);
  int64_t gradient_scratch_count();

 private:
  template <class Primitive>
  struct Made {
    int64_t images;
    typename Primitive::primitive_desc desc;
    Primitive primitive;
  };
  struct Forward {
    bool bias, elu, sum;
    Made<dnnl::convolution_forward> made;
  };
  ConvolutionShape shape_of(int64_t images) const;
  int64_t group() const;  // images that a primitive takes at a time
  int64_t gradient_parts() const;
  const Made<dnnl::convolution_forward>& forward_with(bool bias, bool elu, bool sum, int64_t images);
  const Made<dnnl::convolution_backward_data>& backward_with(int64_t images);
  const Made<dnnl::convolution_backward_weights>& gradient_made();
  // Calls body(first image, primitive and weights for as many as it takes) for all images, in parallel.
  template <class Make, class Body>
  void for_groups(DirectWeights& weights, const Make& make, const Body& body) const;
  // Of the images from `first` on.
  void finish(const Epilogue& epilogue, const MapShape& shape, int64_t first, int64_t images,
              float* map) const;

  ConvolutionShape shape_;
  Layout layout_;
  std::vector<std::unique_ptr<Forward>> forward_;
  std::vector<std::unique_ptr<Made<dnnl::convolution_backward_data>>> backward_;
  std::optional<Made<dnnl::convolution_backward_weights>> gradient_;
};

}  // namespace mdsm::engine::native
