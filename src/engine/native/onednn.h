// oneDNN, with one face for versions 2 (Debian 12) and 3 (Debian 13). What their interfaces call differently
// is here and nowhere else; all of oneDNN is included through this header.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace mdsm::engine::native {

// A direct convolution as oneDNN describes it. An empty bias is none; padding is the same on all sides.
struct ConvolutionDesc {
  dnnl::memory::desc src, weights, bias, dst;
  dnnl::memory::dims strides, padding;
};

// Version 3 has no operation descriptors: the primitive's is made at once.
inline dnnl::convolution_forward::primitive_desc make_forward(const ConvolutionDesc& d,
                                                              const dnnl::primitive_attr& attr,
                                                              const dnnl::engine& engine) {
  constexpr auto kind = dnnl::prop_kind::forward_training;
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kind, algorithm, d.src, d.weights, d.bias, d.dst, d.strides, d.padding, d.padding, attr};
#else
  return {{kind, algorithm, d.src, d.weights, d.bias, d.dst, d.strides, d.padding, d.padding}, attr, engine};
#endif
}

// Of a backward pass, with respect to data or weights; the forward one is what oneDNN calls the hint.
template <class Primitive>
typename Primitive::primitive_desc make_backward(const ConvolutionDesc& d, const dnnl::primitive_attr& attr,
                                                 const dnnl::engine& engine,
                                                 const dnnl::convolution_forward::primitive_desc& forward) {
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {engine, algorithm, d.src, d.weights, d.dst, d.strides, d.padding, d.padding, forward, attr};
#else
  return {{algorithm, d.src, d.weights, d.dst, d.strides, d.padding, d.padding}, attr, engine, forward};
#endif
}

inline void append_elu(dnnl::post_ops& ops) {
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(dnnl::algorithm::eltwise_elu, 1.0f, 0.0f);
#else
  ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_elu, 1.0f, 0.0f);
#endif
}

}  // namespace mdsm::engine::native
