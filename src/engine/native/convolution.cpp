#include "engine/native/convolution.h"

#include <algorithm>

#include "core/error.h"

namespace mdsm::native {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::desc blocked(int64_t n, int64_t channels, int64_t size, Layout layout) {
  return {{n, channels, size, size}, memory::data_type::f32, layout.block == 16 ? Tag::nChw16c : Tag::nChw8c};
}

// Everything a convolution's descriptors share.
struct Descs {
  memory::desc src, weights, dst;
  memory::dims strides, padding;

  Descs(const ConvolutionShape& s, Layout layout)
      : src(blocked(s.n, s.in, s.size, layout)),
        weights({s.out, s.in, s.kernel, s.kernel}, memory::data_type::f32, Tag::any),
        dst(blocked(s.n, s.out, s.out_size(), layout)),
        strides{s.stride(), s.stride()},
        padding{s.pad(), s.pad()} {}
};

dnnl::convolution_forward::primitive_desc forward_desc(const ConvolutionShape& shape, Layout layout,
                                                       ConvolutionForward::Bias bias, Epilogue epilogue) {
  const Descs d(shape, layout);
  const memory::desc bias_desc = bias == ConvolutionForward::Bias::yes
                                     ? memory::desc({shape.out}, memory::data_type::f32, Tag::x)
                                     : memory::desc();
  dnnl::post_ops ops;
  if (epilogue == Epilogue::elu) ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_elu, 1.0f, 0.0f);
  if (epilogue == Epilogue::accumulate) ops.append_sum(1.0f);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  const dnnl::convolution_forward::desc op(dnnl::prop_kind::forward_training,
                                           dnnl::algorithm::convolution_direct, d.src, d.weights, bias_desc,
                                           d.dst, d.strides, d.padding, d.padding);
  return {op, attr, dnnl_engine()};
}

// What oneDNN calls the hint: the forward convolution a backward one belongs to.
dnnl::convolution_forward::primitive_desc forward_hint(const ConvolutionShape& shape, Layout layout) {
  return forward_desc(shape, layout, ConvolutionForward::Bias::no, Epilogue::none);
}

dnnl::convolution_backward_data::primitive_desc backward_desc(const ConvolutionShape& shape, Layout layout) {
  const Descs d(shape, layout);
  return {{dnnl::algorithm::convolution_direct, d.src, d.weights, d.dst, d.strides, d.padding, d.padding},
          dnnl_engine(),
          forward_hint(shape, layout)};
}

dnnl::convolution_backward_weights::primitive_desc gradient_desc(const ConvolutionShape& shape,
                                                                 Layout layout) {
  const Descs d(shape, layout);
  return {{dnnl::algorithm::convolution_direct, d.src, d.weights, d.dst, d.strides, d.padding, d.padding},
          dnnl_engine(),
          forward_hint(shape, layout)};
}

memory at(const memory::desc& desc, const float* data) {
  return {desc, dnnl_engine(), const_cast<float*>(data)};
}

// The 3x3 taps averaged into a 4x4 kernel by 2x2 mean pooling: each of the four pooled positions shifts the
// kernel.
void fold(const float* from3x3, float* to4x4) {
  std::fill_n(to4x4, 16, 0.0f);
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) to4x4[(i + a) * 4 + j + b] += 0.25f * from3x3[i * 3 + j];
}

void add_unfolded(const float* from4x4, float* to3x3) {  // the transpose of fold
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) to3x3[i * 3 + j] += 0.25f * from4x4[(i + a) * 4 + j + b];
}

}  // namespace

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& dnnl_stream() {
  static dnnl::stream stream(dnnl_engine());
  return stream;
}

PackedWeights::PackedWeights(int64_t out, int64_t in, int64_t kernel, bool pooled, Layout layout)
    : out_(out),
      in_(in),
      kernel_(kernel),
      out_padded_(layout.padded(out)),
      in_padded_(layout.padded(in)),
      pooled_(pooled),
      padded_(static_cast<size_t>(out_padded_ * in_padded_ * this->kernel() * this->kernel())) {
  std::fill_n(padded_.data(), padded_.size(), 0.0f);
}

memory::desc PackedWeights::plain_desc() const {
  return {{out_padded_, in_padded_, kernel(), kernel()}, memory::data_type::f32, Tag::oihw};
}

void PackedWeights::set(std::span<const float> plain) {
  const int64_t taps = kernel_ * kernel_, packed_taps = kernel() * kernel();
  for (int64_t o = 0; o < out_; ++o)
    for (int64_t i = 0; i < in_; ++i) {
      const float* from = plain.data() + (o * in_ + i) * taps;
      float* to = padded_.data() + (o * in_padded_ + i) * packed_taps;
      pooled_ ? fold(from, to) : static_cast<void>(std::copy_n(from, taps, to));
    }
  ++version_;
}

const float* PackedWeights::get(const memory::desc& wanted) {
  auto found =
      std::find_if(copies_.begin(), copies_.end(), [&](const auto& copy) { return copy->desc == wanted; });
  if (found == copies_.end()) {
    copies_.push_back(std::make_unique<Copy>());
    found = copies_.end() - 1;
    (*found)->desc = wanted;
    (*found)->values = FloatBuffer(wanted.get_size() / sizeof(float));
  }
  Copy& copy = **found;
  if (copy.version != version_) {
    memory from = at(plain_desc(), padded_.data()), to = at(wanted, copy.values.data());
    dnnl::reorder(from, to).execute(dnnl_stream(), from, to);
    copy.version = version_;
  }
  return copy.values.data();
}

void PackedWeights::add_gradient(const memory::desc& given, const float* gradient, std::span<float> plain) {
  FloatBuffer ordered(padded_.size());
  memory from = at(given, gradient), to = at(plain_desc(), ordered.data());
  dnnl::reorder(from, to).execute(dnnl_stream(), from, to);
  dnnl_stream().wait();
  const int64_t taps = kernel_ * kernel_, packed_taps = kernel() * kernel();
  for (int64_t o = 0; o < out_; ++o)
    for (int64_t i = 0; i < in_; ++i) {
      const float* packed = ordered.data() + (o * in_padded_ + i) * packed_taps;
      float* sum = plain.data() + (o * in_ + i) * taps;
      if (pooled_)
        add_unfolded(packed, sum);
      else
        for (int64_t t = 0; t < taps; ++t) sum[t] += packed[t];
    }
}

ConvolutionForward::ConvolutionForward(const ConvolutionShape& shape, Layout layout, Bias bias,
                                       Epilogue epilogue)
    : desc_(forward_desc(shape, layout, bias, epilogue)), primitive_(desc_) {}

void ConvolutionForward::run(const float* src, PackedWeights& weights, const float* bias, float* dst) {
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, at(desc_.src_desc(), src)},
      {DNNL_ARG_WEIGHTS, at(desc_.weights_desc(), weights.get(desc_.weights_desc()))},
      {DNNL_ARG_DST, at(desc_.dst_desc(), dst)}};
  if (bias) arguments.emplace(DNNL_ARG_BIAS, at(desc_.bias_desc(), bias));
  primitive_.execute(dnnl_stream(), arguments);
  dnnl_stream().wait();
}

ConvolutionBackward::ConvolutionBackward(const ConvolutionShape& shape, Layout layout)
    : desc_(backward_desc(shape, layout)), primitive_(desc_) {}

void ConvolutionBackward::run(const float* diff_dst, PackedWeights& weights, float* diff_src) {
  primitive_.execute(dnnl_stream(),
                     {{DNNL_ARG_DIFF_DST, at(desc_.diff_dst_desc(), diff_dst)},
                      {DNNL_ARG_WEIGHTS, at(desc_.weights_desc(), weights.get(desc_.weights_desc()))},
                      {DNNL_ARG_DIFF_SRC, at(desc_.diff_src_desc(), diff_src)}});
  dnnl_stream().wait();
}

ConvolutionGradient::ConvolutionGradient(const ConvolutionShape& shape, Layout layout)
    : desc_(gradient_desc(shape, layout)), primitive_(desc_) {}

int64_t ConvolutionGradient::scratch_count() const {
  return static_cast<int64_t>(desc_.diff_weights_desc().get_size() / sizeof(float));
}

void ConvolutionGradient::run(const float* src, const float* diff_dst, PackedWeights& weights,
                              std::span<float> plain, float* scratch) {
  const memory::desc order = desc_.diff_weights_desc();
  primitive_.execute(dnnl_stream(), {{DNNL_ARG_SRC, at(desc_.src_desc(), src)},
                                     {DNNL_ARG_DIFF_DST, at(desc_.diff_dst_desc(), diff_dst)},
                                     {DNNL_ARG_DIFF_WEIGHTS, at(order, scratch)}});
  dnnl_stream().wait();
  weights.add_gradient(order, scratch, plain);
}

}  // namespace mdsm::native
