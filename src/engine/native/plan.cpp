#include "engine/native/plan.h"

#include <algorithm>

#include "core/round_up.h"
#include "core/threads.h"
#include "engine/native/profile.h"

namespace mdsm::engine::native {
namespace {

constexpr const char* kElementwise = "elementwise";  // the profile's row for everything that is no layer

constexpr int64_t kHeadMaps = 3;  // of head_memory
constexpr int64_t kWidened = 16;  // values, of which a map has a multiple

using Kind = Instruction::Kind;

}  // namespace

NativeNetwork::NativeNetwork(network::Graph graph, const Shape& image_, double sigma0_,
                             Arithmetic arithmetic_)
    : image(image_.with_n(1)),
      denoiser(!network::has_energy(graph.head)),
      window{0, 0, image_.h, image_.w},
      sigma0(sigma0_),
      arithmetic(arithmetic_),
      fusion(fuse(std::move(graph))),
      layout(choose_layout(fusion.graph.size(fusion.graph.consumers()[0][0] + 1).channels)) {}

ProgramShape NativeNetwork::shape(int64_t n) const {
  const int64_t step = int64_t{1} << fusion.graph.halvings();
  return {n, round_up(image.h, step), round_up(image.w, step)};
}

Plan::Plan(const NativeNetwork& network, Mode mode, int64_t n)
    : net_(network),
      image_(network.image),
      program_(network.fusion, network.layout, network.arithmetic, mode, network.shape(n)),
      n_(n) {
  const network::Graph& graph = net_.fusion.graph;
  for (const Step& step : net_.fusion.steps) {
    scratch_count_ =
        std::max(scratch_count_, n * net_.layout.padded(step.to >= 0 ? graph.size(step.to).channels : 1));
    if (step.kind != Step::Kind::convolution) {
      steps_.push_back(nullptr);
      continue;
    }
    ConvolutionShape shape = program_.convolution_shape(step);
    Convolution convolution(shape, net_.layout, net_.arithmetic, gradient_terms(mode));
    scratch_count_ = std::max(scratch_count_, convolution.scratch_count());
    thread_scratch_count_ = std::max(thread_scratch_count_, convolution.thread_scratch_count());
    shape.in = graph.size(step.from[0]).channels;
    shape.out = graph.size(step.layer + 1).channels;
    if (step.part.upsampled) shape.kernel = 3;  // of the enlarged map
    const std::string name = network::short_name(graph.layers[static_cast<size_t>(step.layer)]);
    steps_.push_back(std::make_unique<Convolved>(
        Convolved{std::move(convolution), name, shape.flop(), step.part.upsampled}));
  }
  auto take = [&, at = program_.floats()](int64_t count) mutable {
    const int64_t place = at;
    at += round_up(count, 16);
    arena_count_ = at;
    return place;
  };
  const bool training = mode == Mode::training;
  const int64_t padded = n * graph.channels * program_.shape().height * program_.shape().width;
  x_at_ = take(n * bordered_image());
  v_at_ = take(training ? n * bordered_image() : 0);
  grad_at_ = take(training ? n * image_.count() : 0);
  padded_at_ = take(padded != n * image_.count() && mode != Mode::energy ? padded : 0);
  scratch_at_ = take(scratch_count_);
  head_at_ = take(net_.arithmetic == Arithmetic::bfloat16 ? kHeadMaps * head_count() : 0);
}

int64_t Plan::kept_weight_count() const {
  int64_t count = 0;
  for (const auto& step : steps_)
    if (step) count += step->convolution.kept_weight_count(mode() != Mode::energy);
  return count;
}

void Plan::energy(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy) {
  run({.weights = weights, .arena = arena, .x = x, .energy = energy});
}

void Plan::gradient(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy,
                    float* grad_x) {
  run({.weights = weights, .arena = arena, .x = x, .energy = energy, .grad_x = grad_x});
}

void Plan::objective(NetworkWeights& weights, float* arena, const float* clean, const float* noisy,
                     std::span<const float> weight, std::span<float> residual, std::span<float> energy,
                     std::span<float> gradient, const GradientProgress::Told& told) {
  run({.weights = weights,
       .arena = arena,
       .x = noisy,
       .clean = clean,
       .weight = weight,
       .energy = energy,
       .residual = residual,
       .gradient = gradient,
       .grad_x = mode() == Mode::training ? arena + grad_at_ : nullptr,  // a denoiser's is its residual
       .told = &told});
}

void Plan::energy_gradient(NetworkWeights& weights, float* arena, const float* x,
                           std::span<const float> weight, std::span<float> energy, std::span<float> gradient,
                           const GradientProgress::Told& told) {
  run({.weights = weights,
       .arena = arena,
       .x = x,
       .weight = weight,
       .energy = energy,
       .gradient = gradient,
       .told = &told});
}

void Plan::run(Call call) {
  const bool tells = call.told && *call.told;
  const std::vector<size_t> ends =
      tells ? open_ends(call.weights, call.gradient.size()) : std::vector<size_t>();
  size_t told = call.gradient.size();
  for (size_t k = 0; k < program_.instructions().size(); ++k) {
    const Instruction& one = program_.instructions()[k];
    net_.arithmetic == Arithmetic::bfloat16 ? run<Bfloat16>(one, call) : run<float>(one, call);
    if (tells && ends[k] < told) (*call.told)(told = ends[k], call.gradient);
  }
}

// For every instruction, where the part of the gradient ends that those after it still add to.
std::vector<size_t> Plan::open_ends(const NetworkWeights& weights, size_t parameters) const {
  const auto end = [](const network::ParameterInfo& info) {
    return static_cast<size_t>(info.offset + info.count);
  };
  std::vector<size_t> ends(program_.instructions().size());
  for (size_t k = ends.size(), open = 0; k-- > 0;) {
    ends[k] = open;
    const Instruction& one = program_.instructions()[k];
    const bool head = one.kind == Kind::head_first_order || one.kind == Kind::head_second_order;
    if (head && weights.head) open = parameters;
    if (one.kind == Kind::gradient || one.kind == Kind::input_gradient)
      open = std::max(open, end(weights.steps[static_cast<size_t>(one.step)].info));
    if (one.kind == Kind::bias_gradient)
      for (const network::ParameterInfo& info : weights.steps[static_cast<size_t>(one.step)].bias_infos)
        open = std::max(open, end(info));
  }
  return ends;
}

template <class Body>
void Plan::for_planes(const MapShape& shape, const Body& body) const {
  parallel_for(n_ * shape.blocks(), 1, body);
}

template <class Value>
EpilogueOf<Value> Plan::epilogue(const Instruction& one, Call& call) const {
  EpilogueOf<Value> end;
  if (one.bias) end.bias = call.weights.steps[static_cast<size_t>(one.step)].bias.data();
  end.raw = at<Value>(one.raw, call);
  end.op = one.op;
  end.y = at<Value>(one.y, call);
  end.delta = at<Value>(one.delta, call);
  end.ydot = at<Value>(one.ydot, call);
  end.add = at<Value>(one.add, call);
  end.add_planes = one.add.planes;
  end.add_unpooled = one.add_unpooled;
  end.second = at<Value>(one.second, call);
  end.second_y = at<Value>(one.second_y, call);
  end.second_silu = one.second_silu;
  return end;
}

template <class Value>
void Plan::run(const Instruction& one, Call& call) {
  switch (one.kind) {
    case Kind::forward:
    case Kind::backward:
      return program_.wide(one.dst)
                 ? convolve<Value>(one, MapOutOf<float>(at<float>(one.dst, call), one.dst.planes), call)
                 : convolve<Value>(one, MapOutOf<Value>(at<Value>(one.dst, call), one.dst.planes), call);
    case Kind::gradient:
      return gradient<Value>(one, call);
    case Kind::input_forward:
      return input_forward<Value>(one, call);
    case Kind::input_backward:
      return input_backward<Value>(one, call);
    case Kind::input_gradient:
      return input_gradient<Value>(one, call);
    case Kind::bias_gradient:
      return bias_gradient<Value>(one, call);
    case Kind::copy_channels:
    case Kind::take_channels:
      return channels<Value>(one, call);
    case Kind::tangent_direction:
      return tangent_direction(call);
    case Kind::head_energy:
    case Kind::head_delta:
    case Kind::head_first_order:
    case Kind::head_second_order:
      return run_head<Value>(one, call);
    default:
      return run_elementwise<Value>(one, call);
  }
}

template <class Value, class Result>
void Plan::convolve(const Instruction& one, MapOutOf<Result> dst, Call& call) {
  Convolved& step = *steps_[static_cast<size_t>(one.step)];
  ConvolutionWeights& weights = *call.weights.steps[static_cast<size_t>(one.step)].packed;
  const ProfileScope scope(step.name, one.pass, step.flop);
  const MapInOf<Value> src(at<Value>(one.src, call), one.src.planes);
  float* const scratch = call.arena + scratch_at_;
  (one.kind == Kind::forward) != step.upsampled
      ? step.convolution.forward(src, weights, epilogue<Value>(one, call), dst, scratch)
      : step.convolution.backward(src, weights, epilogue<Value>(one, call), dst, scratch);
}

template <class Value>
void Plan::gradient(const Instruction& one, Call& call) {
  Convolved& step = *steps_[static_cast<size_t>(one.step)];
  StepWeights& weights = call.weights.steps[static_cast<size_t>(one.step)];
  const ProfileScope scope(step.name, one.pass, static_cast<double>(gradient_terms(mode())) * step.flop);
  const MapInOf<Value> from(at<Value>(one.src, call), one.src.planes),
      other(at<Value>(one.other, call), one.other.planes);
  float *const gradient = part(weights.info, call).data(), *const scratch = call.arena + scratch_at_;
  if (weights.part.whole()) return step.convolution.gradient(from, other, *weights.packed, gradient, scratch);
  std::fill_n(weights.own_gradient.data(), weights.own_gradient.size(), 0.0f);
  step.convolution.gradient(step.upsampled ? other : from, step.upsampled ? from : other, *weights.packed,
                            weights.own_gradient.data(), scratch);
  weights.part.add_gradient(weights.own_gradient.data(), gradient);
}

template <class Value>
void Plan::run_elementwise(const Instruction& one, Call& call) {
  const ProfileScope scope(kElementwise, one.pass, 0);
  Value *const src = at<Value>(one.src, call), *const dst = at<Value>(one.dst, call);
  const MapInOf<Value> from(src, one.src.planes);
  MapShape shape = program_.map_shape(one.value);
  const MapKernels<Value>& kernel = kernels().maps<Value>();
  switch (one.kind) {
    case Kind::pool:
    case Kind::sum_pool:
      shape.planes = one.src.planes;
      return for_planes(shape, [&](int64_t first, int64_t last) {
        kernel.pool(shape, first, last, src, one.dst.planes, dst, one.kind == Kind::sum_pool);
      });
    case Kind::upsample:
      shape.planes = one.dst.planes;
      return for_planes(shape, [&](int64_t first, int64_t last) {
        kernel.upsample(shape, first, last, src, one.src.planes, dst);
      });
    case Kind::gather:
      shape.planes = one.dst.planes;
      return for_planes(shape, [&](int64_t first, int64_t last) {
        kernel.gather(shape, first, last, from, one.add_unpooled, one.add_to, dst);
      });
    case Kind::activate: {
      shape.planes = one.src.planes;
      const EpilogueOf<Value> end = epilogue<Value>(one, call);
      return for_planes(shape,
                        [&](int64_t first, int64_t last) { kernel.finish(end, shape, first, last, src); });
    }
    case Kind::slope: {
      const EpilogueOf<Value> end = epilogue<Value>(one, call);
      return for_planes(shape, [&](int64_t first, int64_t last) {
        kernel.gather(shape, first, last, from, false, false, dst);
        kernel.finish(end, shape, first, last, dst);
      });
    }
    default:
      return;
  }
}

// Unaligned concatenations, which only narrow networks have: channel by channel.
template <class Value>
void Plan::channels(const Instruction& one, Call& call) {
  const ProfileScope scope(kElementwise, one.pass, 0);
  const int64_t block = net_.layout.block, channels = net_.fusion.graph.size(one.value).channels;
  const MapShape part = program_.map_shape(one.value);
  const Step& step = net_.fusion.steps[static_cast<size_t>(one.step)];
  const MapShape whole = program_.map_shape(step.to);
  const bool copy = one.kind == Kind::copy_channels;
  Value* const small = at<Value>(copy ? one.src : one.dst, call);
  Value* const large = at<Value>(copy ? one.dst : one.src, call);
  const int64_t small_planes = copy && one.src.planes > 0 ? one.src.planes : part.blocks();
  parallel_for(n_, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      if (!copy) std::fill_n(small + i * part.blocks() * part.plane(), part.blocks() * part.plane(), Value{});
      // The padding behind the last part's channels is written once, by the first part.
      if (copy && one.channel == 0)
        std::fill_n(large + i * whole.blocks() * whole.plane(), whole.blocks() * whole.plane(), Value{});
      for (int64_t c = 0; c < channels; ++c) {
        Value* a = small + (i * small_planes + c / block) * part.plane() + c % block;
        Value* b = large + (i * whole.blocks() + (one.channel + c) / block) * whole.plane() +
                   (one.channel + c) % block;
        for (int64_t p = 0; p < part.height * part.width; ++p)
          (copy ? b : a)[p * block] = (copy ? a : b)[p * block];
      }
    }
  });
}

double Plan::head_flop() const {
  const network::Graph& graph = net_.fusion.graph;
  return 2.0 * (graph.head == network::Head::quadratic ? 3 : 1) *
         static_cast<double>(n_ * graph.shape(graph.last(), image_).count());
}

double Plan::input_flop() const {
  const int64_t width = net_.fusion.graph.size(net_.fusion.steps[0].to).channels;
  return 2.0 * 9 * static_cast<double>(n_ * width * image_.count());
}

ImageHead Plan::image_head() const {
  const network::Graph& graph = net_.fusion.graph;
  return {graph.head, net_.sigma0, n_, image_, net_.window, program_.map_shape(graph.last())};
}

int64_t Plan::head_count() const {
  const MapShape map = program_.map_shape(net_.fusion.graph.last());
  return round_up(n_ * map.blocks() * map.plane(), 16);
}

float* Plan::head_memory(const MapRef& ref, int which, const Call& call) const {
  if (!ref || program_.wide(ref)) return at<float>(ref, call);
  return call.arena + head_at_ + which * head_count();
}

const float* Plan::head_map(const MapRef& ref, int which, const Call& call) const {
  float* const to = head_memory(ref, which, call);
  if (ref && !program_.wide(ref)) {
    const Bfloat16* const from = at<Bfloat16>(ref, call);
    parallel_for(head_count() / kWidened, 64, [&](int64_t first, int64_t last) {
      kernels().widen(from + first * kWidened, to + first * kWidened, (last - first) * kWidened);
    });
  }
  return to;
}

template <class Value>
void Plan::run_head(const Instruction& one, Call& call) {
  // The second order: its tangent, its second backward pass and its two weight gradients in one go.
  const bool second = one.kind == Kind::head_second_order;
  const ProfileScope scope("head", one.pass, (second ? 4 : 1) * head_flop());
  const float *const h = head_map(one.src, 0, call), *const hdot = head_map(one.other, 1, call),
                     *const y = call.arena + x_at_;
  float* const to = head_memory(one.dst, 2, call);
  const bool image = network::is_image_head(net_.fusion.graph.head), denoiser = net_.denoiser;
  switch (one.kind) {
    case Kind::head_energy:
      if (denoiser && call.grad_x) image_head().denoiser_gradient(y, h, call.grad_x);
      image ? image_head().energy(y, h, call.energy) : call.weights.head->energy(h, call.energy);
      break;
    case Kind::head_delta:
      image ? image_head().delta(y, h, {}, to) : call.weights.head->delta(h, n_, to);
      break;
    case Kind::head_first_order:
      if (denoiser)
        image_head().denoiser_objective(y, call.clean, h, call.weight, call.residual, to);
      else
        image ? image_head().delta(y, h, call.weight, to)
              : call.weights.head->first_order(h, call.weight, to, call.gradient);
      break;
    default:
      image ? image_head().second_order(call.arena + v_at_, hdot, to)
            : call.weights.head->second_order(h, hdot, n_, to, call.gradient);
  }
  if (!one.dst || program_.wide(one.dst)) return;
  Bfloat16* const rounded = at<Bfloat16>(one.dst, call);
  parallel_for(head_count() / kWidened, 64, [&](int64_t first, int64_t last) {
    kernels().narrow(to + first * kWidened, rounded + first * kWidened, (last - first) * kWidened);
  });
}

template <class Value>
void Plan::input_forward(const Instruction& one, Call& call) {
  const ProfileScope scope(network::short_name(net_.fusion.graph.layers[0]), one.pass, input_flop());
  const bool tangent = one.pass == Pass::tangent;
  const float offset = network::is_image_head(net_.fusion.graph.head) ? -0.5f : 0.0f;
  const EpilogueOf<Value> end = epilogue<Value>(one, call);
  const InputConvolution convolution = call.weights.input(program_.shape().height, program_.shape().width);
  Value* const dst = at<Value>(one.dst, call);
  parallel_for(n_, 1, [&](int64_t begin, int64_t last) {
    for (int64_t i = begin; i < last; ++i) {
      float* const bordered = call.arena + (tangent ? v_at_ : x_at_) + i * bordered_image();
      if (!tangent) with_border(call.x + i * image_.count(), offset, bordered);
      kernels().maps<Value>().input_forward(convolution, bordered, i, end, dst);
    }
  });
}

template <class Value>
void Plan::input_backward(const Instruction& one, Call& call) {
  const ProfileScope scope(network::short_name(net_.fusion.graph.layers[0]), one.pass, input_flop());
  const InputConvolution convolution = call.weights.input(program_.shape().height, program_.shape().width);
  const Value* const delta = at<Value>(one.src, call);
  const MapShape map = program_.map_shape(one.value);
  const int64_t padded = image_.c * map.height * map.width;
  const bool cut = padded != image_.count();
  parallel_for(n_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* const whole = cut ? call.arena + padded_at_ + i * padded : call.grad_x + i * image_.count();
      kernels().maps<Value>().input_backward(convolution, delta + i * map.blocks() * map.plane(), whole);
      for (int64_t row = 0; cut && row < image_.c * image_.h; ++row)
        std::copy_n(whole + (row / image_.h * map.height + row % image_.h) * map.width, image_.w,
                    call.grad_x + i * image_.count() + row * image_.w);
    }
  });
  if (network::is_image_head(net_.fusion.graph.head))
    image_head().add_direct(call.arena + x_at_, head_map(one.other, 0, call), call.grad_x);
}

void Plan::tangent_direction(Call& call) {
  const ProfileScope scope(kElementwise, Pass::tangent, 0);
  const int64_t image = image_.count();
  const float kernel_variance = static_cast<float>(net_.sigma0 * net_.sigma0);
  parallel_for(n_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float scale = 2.0f * kernel_variance * call.weight[static_cast<size_t>(i)];
      double sum = 0;
      float* const v = call.grad_x + i * image;  // in its place
      for (int64_t p = 0; p < image; ++p) {
        const float r = call.clean[i * image + p] - call.x[i * image + p] + kernel_variance * v[p];
        sum += static_cast<double>(r) * r;
        v[p] = scale * r;
      }
      with_border(v, 0, call.arena + v_at_ + i * bordered_image());
      call.residual[static_cast<size_t>(i)] = static_cast<float>(sum);
    }
  });
}

int64_t Plan::bordered_image() const {
  return bordered_floats(image_.c, program_.shape().height, program_.shape().width);
}

void Plan::with_border(const float* image, float offset, float* bordered) const {
  const int64_t row = program_.shape().width + 2, plane = row * (program_.shape().height + 2);
  std::fill_n(bordered, bordered_image(), 0.0f);
  for (int64_t c = 0; c < image_.c; ++c)
    for (int64_t y = 0; y < image_.h; ++y)
      std::transform(image + (c * image_.h + y) * image_.w, image + (c * image_.h + y + 1) * image_.w,
                     bordered + c * plane + (y + 1) * row + 1, [&](float value) { return value + offset; });
}

template <class Value>
void Plan::input_gradient(const Instruction& one, Call& call) {
  struct InputTerm {
    const float* bordered;
    const Value* delta;
  };
  std::vector<InputTerm> terms = {{call.arena + x_at_, at<Value>(one.src, call)}};
  if (one.other) terms.push_back({call.arena + v_at_, at<Value>(one.other, call)});
  const ProfileScope scope(network::short_name(net_.fusion.graph.layers[0]), Pass::weight_gradients,
                           static_cast<double>(terms.size()) * input_flop());
  const MapShape shape = program_.map_shape(one.value);
  const InputConvolution convolution = call.weights.input(shape.height, shape.width);
  const int64_t map = shape.blocks() * shape.plane(), image = bordered_image();
  // A fixed number of sums, added in order: the same bits with any number of threads.
  constexpr int64_t kSums = 16;
  const auto count = static_cast<int64_t>(call.weights.input_weights.size());
  FloatBuffer sums(static_cast<size_t>(kSums * count));
  std::fill_n(sums.data(), sums.size(), 0.0f);
  parallel_for(kSums, 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k)
      for (int64_t i = n_ * k / kSums; i < n_ * (k + 1) / kSums; ++i)
        for (const auto& [bordered, delta] : terms)
          kernels().maps<Value>().input_weights(convolution, bordered + i * image, delta + i * map,
                                                sums.data() + k * count);
  });
  const network::ParameterInfo& info = call.weights.steps[static_cast<size_t>(one.step)].info;
  for (int64_t k = 0; k < kSums; ++k)
    add_input_gradient(call.weights, sums.data() + k * count, part(info, call));
}

template <class Value>
void Plan::bias_gradient(const Instruction& one, Call& call) {
  const ProfileScope scope(kElementwise, Pass::weight_gradients, 0);
  const MapShape shape = program_.map_shape(one.value);
  const int64_t channels = net_.fusion.graph.size(one.value).channels;
  const Value* const gamma = at<Value>(one.src, call);
  float* const sums = call.arena + scratch_at_;
  for_planes(shape, [&](int64_t first, int64_t last) {
    for (int64_t plane = first; plane < last; ++plane)
      kernels().maps<Value>().plane_sum(gamma + plane * shape.plane(), sums + plane * shape.block,
                                        shape.height * shape.width, shape.block);
  });
  for (int64_t c = 0; c < channels; ++c) {
    double total = 0;
    for (int64_t i = 0; i < n_; ++i) total += sums[i * shape.channels + c];
    for (const network::ParameterInfo& info : call.weights.steps[static_cast<size_t>(one.step)].bias_infos)
      part(info, call)[static_cast<size_t>(c)] += static_cast<float>(total);
  }
}

}  // namespace mdsm::engine::native
