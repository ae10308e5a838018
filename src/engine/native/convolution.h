// oneDNN convolutions on channel-blocked feature maps: thin wrappers that own a primitive and take raw
// pointers. Weights come and go through PackedWeights, in whatever order the primitive likes best.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "engine/native/layout.h"

namespace mdsm::native {

// One oneDNN CPU engine and stream for the process.
const dnnl::engine& dnnl_engine();
dnnl::stream& dnnl_stream();

// Channels are already padded to whole blocks.
struct ConvolutionShape {
  int64_t n, in, out;
  int64_t size;    // pixels along each side of the input
  int64_t kernel;  // 1, 3, or 4 (a 3x3 with 2x2 mean pooling folded in, stride 2)

  int64_t stride() const { return kernel == 4 ? 2 : 1; }
  int64_t pad() const { return kernel == 1 ? 0 : 1; }
  int64_t out_size() const { return size / stride(); }
};

// The weights of one convolution in the orders its primitives ask for, made from the plain ones when these
// change.
class PackedWeights {
 public:
  // plain: (out, in, k, k) with unpadded channels, k = 1 or 3; pooled folds the 3x3 into 4x4 stride 2.
  PackedWeights(int64_t out, int64_t in, int64_t kernel, bool pooled, Layout layout);

  int64_t kernel() const { return pooled_ ? 4 : kernel_; }
  void set(std::span<const float> plain);
  // The weights in the order `wanted`, remembered until the next set().
  const float* get(const dnnl::memory::desc& wanted);
  // Adds a gradient that lies in the order `given` to the plain one.
  void add_gradient(const dnnl::memory::desc& given, const float* gradient, std::span<float> plain);

 private:
  struct Copy {
    dnnl::memory::desc desc;
    FloatBuffer values;
    uint64_t version = 0;
  };
  dnnl::memory::desc plain_desc() const;

  int64_t out_, in_, kernel_, out_padded_, in_padded_;
  bool pooled_;
  FloatBuffer padded_;  // (out_padded, in_padded, kernel(), kernel())
  uint64_t version_ = 0;
  std::vector<std::unique_ptr<Copy>> copies_;
};

enum class Epilogue { none, elu, accumulate };

class ConvolutionForward {
 public:
  enum class Bias { no, yes };
  ConvolutionForward(const ConvolutionShape& shape, Layout layout, Bias bias, Epilogue epilogue);
  void run(const float* src, PackedWeights& weights, const float* bias, float* dst);

 private:
  dnnl::convolution_forward::primitive_desc desc_;
  dnnl::convolution_forward primitive_;
};

class ConvolutionBackward {
 public:
  ConvolutionBackward(const ConvolutionShape& shape, Layout layout);
  void run(const float* diff_dst, PackedWeights& weights, float* diff_src);

 private:
  dnnl::convolution_backward_data::primitive_desc desc_;
  dnnl::convolution_backward_data primitive_;
};

class ConvolutionGradient {
 public:
  ConvolutionGradient(const ConvolutionShape& shape, Layout layout);
  // Adds the weight gradient to `plain`. scratch: at least scratch_count() floats.
  void run(const float* src, const float* diff_dst, PackedWeights& weights, std::span<float> plain,
           float* scratch);
  int64_t scratch_count() const;

 private:
  dnnl::convolution_backward_weights::primitive_desc desc_;
  dnnl::convolution_backward_weights primitive_;
};

}  // namespace mdsm::native
