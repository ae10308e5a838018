#include "engine/native/direct.h"

#include <dlfcn.h>

#include <algorithm>

#include "core/threads.h"
#include "engine/native/kernels.h"
#include "engine/native/thread_memory.h"

namespace mdsm::engine::native {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// A primitive has at least so many pixels to work on, where there are images enough: less is not worth the
// call.
constexpr int64_t kLeastPixels = 64;
// Partial sums of a weight gradient, and what they may take beyond two of them.
constexpr int64_t kMostParts = 8, kLeastPixelsOfPart = 64, kMostFloatsOfParts = 8 << 20;

// While this lives, oneDNN uses the calling thread alone. It asks OpenMP for the number of threads, which
// OpenMP keeps for each thread that calls it; a oneDNN without OpenMP needs nothing.
class OneThread {
 public:
  OneThread() {
    if (!runtime().get || !runtime().set) return;
    before_ = runtime().get();
    if (before_ != 1) runtime().set(1);
  }
  ~OneThread() {
    if (before_ > 1) runtime().set(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  struct Runtime {
    int (*get)();
    void (*set)(int);
  };
  // The functions that oneDNN itself finds.
  static const Runtime& runtime() {
    static const Runtime found{reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")),
                               reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))};
    return found;
  }
  int before_ = 1;
};

memory::desc blocked(int64_t n, int64_t channels, int64_t height, int64_t width, Layout layout) {
  return {
      {n, channels, height, width}, memory::data_type::f32, layout.block == 16 ? Tag::nChw16c : Tag::nChw8c};
}

// oneDNN's own working memory belongs to the thread that made the primitive; an engine may be made in one
// thread and used in another.
dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

ConvolutionDesc describe(const ConvolutionShape& s, Layout layout, bool bias) {
  return {.src = blocked(s.n, s.in, s.height, s.width, layout),
          .weights = {{s.out, s.in, s.kernel, s.kernel}, memory::data_type::f32, Tag::any},
          .bias = bias ? memory::desc({s.out}, memory::data_type::f32, Tag::x) : memory::desc(),
          .dst = blocked(s.n, s.out, s.out_height(), s.out_width(), layout),
          .strides = {s.stride(), s.stride()},
          .padding = {s.pad(), s.pad()}};
}

dnnl::convolution_forward::primitive_desc forward_desc(const ConvolutionShape& shape, Layout layout,
                                                       bool bias, bool elu, bool sum) {
  dnnl::post_ops ops;
  if (elu) append_elu(ops);
  if (sum) ops.append_sum(1.0f);
  dnnl::primitive_attr attr = own_scratchpad();
  attr.set_post_ops(ops);
  return make_forward(describe(shape, layout, bias), attr, dnnl_engine());
}

template <class Primitive>
typename Primitive::primitive_desc backward_desc(const ConvolutionShape& shape, Layout layout) {
  return make_backward<Primitive>(describe(shape, layout, false), own_scratchpad(), dnnl_engine(),
                                  forward_desc(shape, layout, false, false, false));
}

memory at(const memory::desc& desc, const float* data) {
  return {desc, dnnl_engine(), const_cast<float*>(data)};
}

// Runs a primitive to its end with a stream and working memory of the calling thread, so that engines in
// different threads share nothing. The memory grows to what the largest primitive needs.
template <class Primitive>
void run(const Primitive& primitive, const typename Primitive::primitive_desc& desc,
         std::unordered_map<int, memory> arguments) {
  const OneThread one;
  thread_local dnnl::stream stream(dnnl_engine());
  const memory::desc scratchpad = desc.scratchpad_desc();
  const size_t floats = (scratchpad.get_size() + sizeof(float) - 1) / sizeof(float);
  arguments.emplace(DNNL_ARG_SCRATCHPAD, at(scratchpad, thread_memory(static_cast<int64_t>(floats))));
  primitive.execute(stream, arguments);
  stream.wait();
}

void reorder(const memory& from, const memory& to) {
  const OneThread one;
  const dnnl::reorder::primitive_desc desc(from, to, own_scratchpad());
  run(dnnl::reorder(desc), desc, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
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

DirectWeights::DirectWeights(int64_t out, int64_t in, int64_t kernel, bool pooled, Layout layout)
    : out_(out),
      in_(in),
      kernel_(kernel),
      out_padded_(layout.padded(out)),
      in_padded_(layout.padded(in)),
      pooled_(pooled) {}

memory::desc DirectWeights::padded_desc() const {
  return {{out_padded_, in_padded_, kernel(), kernel()}, memory::data_type::f32, Tag::oihw};
}

void DirectWeights::set(const float* plain) {
  plain_ = plain;
  ++version_;
}

void DirectWeights::make_padded() {
  const int64_t taps = kernel_ * kernel_, padded_taps = kernel() * kernel();
  if (padded_.size() == 0) {
    padded_ = FloatBuffer(static_cast<size_t>(out_padded_ * in_padded_ * padded_taps));
    std::fill_n(padded_.data(), padded_.size(), 0.0f);
  }
  parallel_for(out_, 1, [&](int64_t first, int64_t last) {
    for (int64_t o = first; o < last; ++o)
      for (int64_t i = 0; i < in_; ++i) {
        const float* from = plain_ + (o * in_ + i) * taps;
        float* to = padded_.data() + (o * in_padded_ + i) * padded_taps;
        pooled_ ? fold(from, to) : static_cast<void>(std::copy_n(from, taps, to));
      }
  });
  padded_version_ = version_;
}

const float* DirectWeights::get(const memory::desc& wanted) {
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
    if (padded_version_ != version_) make_padded();
    reorder(at(padded_desc(), padded_.data()), at(wanted, copy.values.data()));
    copy.version = version_;
  }
  return copy.values.data();
}

void DirectWeights::add_gradient(const memory::desc& given, const float* gradient, float* plain) {
  const int64_t taps = kernel_ * kernel_, padded_taps = kernel() * kernel();
  FloatBuffer ordered(static_cast<size_t>(out_padded_ * in_padded_ * padded_taps));
  reorder(at(given, gradient), at(padded_desc(), ordered.data()));
  parallel_for(out_, 1, [&](int64_t first, int64_t last) {
    for (int64_t o = first; o < last; ++o)
      for (int64_t i = 0; i < in_; ++i) {
        const float* padded = ordered.data() + (o * in_padded_ + i) * padded_taps;
        float* sum = plain + (o * in_ + i) * taps;
        if (pooled_)
          add_unfolded(padded, sum);
        else
          for (int64_t t = 0; t < taps; ++t) sum[t] += padded[t];
      }
  });
}

DirectConvolution::DirectConvolution(const ConvolutionShape& shape, Layout layout)
    : shape_(shape), layout_(layout) {}

ConvolutionShape DirectConvolution::shape_of(int64_t images) const {
  ConvolutionShape shape = shape_;
  shape.n = images;
  return shape;
}

int64_t DirectConvolution::group() const {
  const int64_t pixels = shape_.out_height() * shape_.out_width();
  return std::min(shape_.n, (kLeastPixels + pixels - 1) / pixels);
}

// All of the same number of images, so that one primitive serves them.
int64_t DirectConvolution::gradient_parts() const {
  const int64_t pixels = shape_.n * shape_.out_height() * shape_.out_width(),
                floats = shape_.out * shape_.in * shape_.kernel * shape_.kernel;
  for (int64_t parts = kMostParts; parts > 1; --parts)
    if (shape_.n % parts == 0 && pixels / parts >= kLeastPixelsOfPart &&
        (parts == 2 || parts * floats <= kMostFloatsOfParts))
      return parts;
  return 1;
}

template <class Make, class Body>
void DirectConvolution::for_groups(DirectWeights& weights, const Make& make, const Body& body) const {
  const int64_t whole = group(), groups = (shape_.n + whole - 1) / whole, rest = shape_.n % whole;
  const auto& most = make(whole);
  const auto& last_one = rest == 0 ? most : make(rest);
  const float* const most_weights = weights.get(most.desc.weights_desc());
  const float* const last_weights = weights.get(last_one.desc.weights_desc());
  parallel_for(groups, 1, [&](int64_t first, int64_t last) {
    for (int64_t g = first; g < last; ++g)
      g == groups - 1 ? body(g * whole, last_one, last_weights) : body(g * whole, most, most_weights);
  });
}

const DirectConvolution::Made<dnnl::convolution_forward>& DirectConvolution::forward_with(bool bias, bool elu,
                                                                                          bool sum,
                                                                                          int64_t images) {
  for (const auto& one : forward_)
    if (one->bias == bias && one->elu == elu && one->sum == sum && one->made.images == images)
      return one->made;
  const OneThread one;
  const auto desc = forward_desc(shape_of(images), layout_, bias, elu, sum);
  forward_.push_back(
      std::make_unique<Forward>(Forward{bias, elu, sum, {images, desc, dnnl::convolution_forward(desc)}}));
  return forward_.back()->made;
}

const DirectConvolution::Made<dnnl::convolution_backward_data>& DirectConvolution::backward_with(
    int64_t images) {
  for (const auto& one : backward_)
    if (one->images == images) return *one;
  const OneThread one;
  using Backward = dnnl::convolution_backward_data;
  const auto desc = backward_desc<Backward>(shape_of(images), layout_);
  backward_.push_back(std::make_unique<Made<Backward>>(Made<Backward>{images, desc, Backward(desc)}));
  return *backward_.back();
}

const DirectConvolution::Made<dnnl::convolution_backward_weights>& DirectConvolution::gradient_made() {
  if (!gradient_) {
    const OneThread one;
    const int64_t images = shape_.n / gradient_parts();
    const auto desc = backward_desc<dnnl::convolution_backward_weights>(shape_of(images), layout_);
    gradient_ = {images, desc, dnnl::convolution_backward_weights(desc)};
  }
  return *gradient_;
}

void DirectConvolution::finish(const Epilogue& epilogue, const MapShape& shape, int64_t first, int64_t images,
                               float* map) const {
  if (!epilogue.bias && !epilogue.raw && epilogue.op == Epilogue::Op::none && !epilogue.add &&
      !epilogue.second)
    return;
  kernels().floats.finish(epilogue, shape, first * shape.blocks(), (first + images) * shape.blocks(), map);
}

void DirectConvolution::forward(const float* src, DirectWeights& weights, const Epilogue& epilogue,
                                float* dst) {
  // What oneDNN can do by itself: the bias, then either ELU or adding to what is there.
  Epilogue rest = epilogue;
  const bool bias = epilogue.bias != nullptr, elu = epilogue.op == Epilogue::Op::elu && !epilogue.raw;
  const bool sum = epilogue.op == Epilogue::Op::none && epilogue.add == dst && !epilogue.raw;
  rest.bias = nullptr;
  if (elu) rest.op = Epilogue::Op::none;
  if (sum) rest.add = nullptr;
  const MapShape from{shape_.in, shape_.height, shape_.width, layout_.block},
      to{shape_.out, shape_.out_height(), shape_.out_width(), layout_.block};
  for_groups(
      weights, [&](int64_t images) -> const auto& { return forward_with(bias, elu, sum, images); },
      [&](int64_t first, const Made<dnnl::convolution_forward>& made, const float* packed) {
        const auto& [images, desc, primitive] = made;
        std::unordered_map<int, memory> arguments = {
            {DNNL_ARG_SRC, at(desc.src_desc(), src + first * from.blocks() * from.plane())},
            {DNNL_ARG_WEIGHTS, at(desc.weights_desc(), packed)},
            {DNNL_ARG_DST, at(desc.dst_desc(), dst + first * to.blocks() * to.plane())}};
        if (bias) arguments.emplace(DNNL_ARG_BIAS, at(desc.bias_desc(), epilogue.bias));
        run(primitive, desc, std::move(arguments));
        finish(rest, to, first, images, dst);
      });
}

void DirectConvolution::backward(const float* diff_dst, DirectWeights& weights, const Epilogue& epilogue,
                                 float* diff_src) {
  const MapShape from{shape_.out, shape_.out_height(), shape_.out_width(), layout_.block},
      to{shape_.in, shape_.height, shape_.width, layout_.block};
  for_groups(
      weights, [&](int64_t images) -> const auto& { return backward_with(images); },
      [&](int64_t first, const Made<dnnl::convolution_backward_data>& made, const float* packed) {
        const auto& [images, desc, primitive] = made;
        run(primitive, desc,
            {{DNNL_ARG_DIFF_DST, at(desc.diff_dst_desc(), diff_dst + first * from.blocks() * from.plane())},
             {DNNL_ARG_WEIGHTS, at(desc.weights_desc(), packed)},
             {DNNL_ARG_DIFF_SRC, at(desc.diff_src_desc(), diff_src + first * to.blocks() * to.plane())}});
        finish(epilogue, to, first, images, diff_src);
      });
}

int64_t DirectConvolution::gradient_scratch_count() {
  return gradient_parts() *
         static_cast<int64_t>(gradient_made().desc.diff_weights_desc().get_size() / sizeof(float));
}

void DirectConvolution::gradient(const float* src, const float* diff_dst, DirectWeights& weights,
                                 float* plain, float* scratch) {
  const auto& made = gradient_made();
  const memory::desc order = made.desc.diff_weights_desc();
  const auto count = static_cast<int64_t>(order.get_size() / sizeof(float));
  const int64_t parts = gradient_parts(), images = made.images;
  const MapShape in{shape_.in, shape_.height, shape_.width, layout_.block},
      out{shape_.out, shape_.out_height(), shape_.out_width(), layout_.block};
  parallel_for(parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part)
      run(made.primitive, made.desc,
          {{DNNL_ARG_SRC, at(made.desc.src_desc(), src + part * images * in.blocks() * in.plane())},
           {DNNL_ARG_DIFF_DST,
            at(made.desc.diff_dst_desc(), diff_dst + part * images * out.blocks() * out.plane())},
           {DNNL_ARG_DIFF_WEIGHTS, at(order, scratch + part * count)}});
  });
  parallel_for(count, 1 << 14, [&](int64_t first, int64_t last) {
    for (int64_t part = 1; part < parts; ++part)
      for (int64_t i = first; i < last; ++i) scratch[i] += scratch[part * count + i];
  });
  weights.add_gradient(order, scratch, plain);
}

}  // namespace mdsm::engine::native
