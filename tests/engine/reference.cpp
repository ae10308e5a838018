#include "engine/reference.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace mdsm::test {
namespace {

using network::Head;
using network::Layer;
using network::LayerKind;

// Calls body(weight, out channel, y, x, in channel, source y, source x) for every product of a k x k
// convolution with padding k/2. The three uses below are the convolution, its transpose and its derivative by
// the weights, so all of them share one definition of which input meets which weight.
template <class Body>
void for_each_product(int64_t out, int64_t in, int64_t k, int64_t height, int64_t width, const Body& body) {
  const int64_t pad = k / 2;
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = 0; i < in; ++i)
      for (int64_t ky = 0; ky < k; ++ky)
        for (int64_t kx = 0; kx < k; ++kx) {
          const size_t w = static_cast<size_t>(((o * in + i) * k + ky) * k + kx);
          for (int64_t y = std::max<int64_t>(0, pad - ky); y < std::min(height, height + pad - ky); ++y)
            for (int64_t x = std::max<int64_t>(0, pad - kx); x < std::min(width, width + pad - kx); ++x)
              body(w, o, y, x, i, y + ky - pad, x + kx - pad);
        }
}

Map convolve(const Map& in, std::span<const double> weight, int64_t out, int64_t k) {
  Map result(out, in.h, in.w);
  for_each_product(out, in.c, k, in.h, in.w,
                   [&](size_t w, int64_t o, int64_t y, int64_t x, int64_t i, int64_t sy, int64_t sx) {
                     result.at(o, y, x) += weight[w] * in.at(i, sy, sx);
                   });
  return result;
}

void add_convolved_back(const Map& delta, std::span<const double> weight, int64_t k, Map& to) {
  for_each_product(delta.c, to.c, k, to.h, to.w,
                   [&](size_t w, int64_t o, int64_t y, int64_t x, int64_t i, int64_t sy, int64_t sx) {
                     to.at(i, sy, sx) += weight[w] * delta.at(o, y, x);
                   });
}

void add_weight_gradient(const Map& in, const Map& delta, int64_t k, std::span<double> gradient) {
  for_each_product(delta.c, in.c, k, in.h, in.w,
                   [&](size_t w, int64_t o, int64_t y, int64_t x, int64_t i, int64_t sy, int64_t sx) {
                     gradient[w] += delta.at(o, y, x) * in.at(i, sy, sx);
                   });
}

void add_bias_gradient(const Map& delta, std::span<double> gradient) {
  for (size_t i = 0; i < delta.v.size(); ++i)
    gradient[i / static_cast<size_t>(delta.h * delta.w)] += delta.v[i];
}

// An activation and its first two derivatives.
struct Pointwise {
  double value, slope, bend;
};
Pointwise pointwise(LayerKind kind, double x) {
  if (kind == LayerKind::elu)
    return x > 0 ? Pointwise{x, 1, 0} : Pointwise{std::expm1(x), std::exp(x), std::exp(x)};
  const double s = 1 / (1 + std::exp(-x)), ds = s * (1 - s);
  return {x * s, s + x * ds, 2 * ds + x * ds * (1 - 2 * s)};
}
bool is_pointwise(const Layer& layer) {
  return layer.kind == LayerKind::elu || layer.kind == LayerKind::silu;
}

double dot(std::span<const double> a, std::span<const double> b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

double elu(double x) { return pointwise(LayerKind::elu, x).value; }
double elu_d1(double x) { return pointwise(LayerKind::elu, x).slope; }
double elu_d2(double x) { return pointwise(LayerKind::elu, x).bend; }

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

Reference::Reference(network::Graph graph, const Shape& image, double sigma0, Vector parameters)
    : graph_(std::move(graph)),
      sigma0_(sigma0),
      image_(image.with_n(1)),
      whole_(image_),
      layout_(network::parameter_layout(graph_, image_)),
      parameters_(std::move(parameters)) {
  const int64_t step = int64_t{1} << graph_.halvings();
  whole_.h = round_up(image_.h, step);
  whole_.w = round_up(image_.w, step);
}

std::span<const double> Reference::at(const std::string& name) const {
  for (const network::ParameterInfo& info : layout_)
    if (info.name == name)
      return std::span(parameters_)
          .subspan(static_cast<size_t>(info.offset), static_cast<size_t>(info.count));
  fail("", "no parameter {}", name);
}

std::span<double> Reference::in(Vector& gradient, const std::string& name) const {
  const auto place = at(name);
  return std::span(gradient).subspan(static_cast<size_t>(place.data() - parameters_.data()), place.size());
}

std::vector<Map> Reference::zeros() const {
  std::vector<Map> maps;
  for (int value = 0; value < graph_.values(); ++value) {
    const Shape shape = graph_.shape(value, whole_);
    maps.emplace_back(shape.c, shape.h, shape.w);
  }
  return maps;
}

Map Reference::padded(const Map& image, double offset) const {
  Map map(image.c, whole_.h, whole_.w);
  for (int64_t c = 0; c < image.c; ++c)
    for (int64_t y = 0; y < image.h; ++y)
      for (int64_t x = 0; x < image.w; ++x) map.at(c, y, x) = image.at(c, y, x) + offset;
  return map;
}

Map Reference::cut(const Map& map) const {
  Map image(map.c, image_.h, image_.w);
  for (int64_t c = 0; c < image.c; ++c)
    for (int64_t y = 0; y < image.h; ++y)
      for (int64_t x = 0; x < image.w; ++x) image.at(c, y, x) = map.at(c, y, x);
  return image;
}

double Reference::energy(const Map& x) const {
  Tape tape;
  return forward(x, tape);
}

Map Reference::grad_x(const Map& x) const {
  Tape tape;
  forward(x, tape);
  if (!network::has_energy(graph_.head)) return denoiser_gradient(tape);
  return backward(tape);
}

Objective Reference::objective(const Map& x, const Map& noisy, double weight, Vector& gradient) const {
  Tape tape;
  Objective result;
  result.energy = forward(noisy, tape);
  const bool denoiser = !network::has_energy(graph_.head);
  const Map g = denoiser ? denoiser_gradient(tape) : backward(tape);
  Map v = g;
  for (size_t k = 0; k < v.v.size(); ++k) {
    const double r = x.v[k] - noisy.v[k] + sigma0_ * sigma0_ * g.v[k];
    result.residual += r * r;
    v.v[k] = 2 * sigma0_ * sigma0_ * weight * r;
  }
  if (denoiser) {
    tape.delta = zeros();
    tape.delta.back() = padded(v, 0);
    const double sign = network::is_noise(graph_.head) ? 1 : -1;
    for (double& value : tape.delta.back().v) value *= sign / (sigma0_ * sigma0_);
    backward_layers(tape);
    first_order(tape, gradient);
    return result;
  }
  result.v_dot_g = dot(v.v, g.v);
  result.energy_dot = tangent(v, tape);
  second_backward(tape, gradient);
  return result;
}

double Reference::energy_gradient(const Map& x, double weight, Vector& gradient) const {
  Tape tape;
  const double e = forward(x, tape);
  backward(tape);
  Vector plain(gradient.size());
  first_order(tape, plain);
  for (size_t i = 0; i < plain.size(); ++i) gradient[i] += weight * plain[i];
  return e;
}

// The linear layers, which act on values and on rates alike (rates have no bias).
Map Reference::layer_forward(const Layer& layer, const std::vector<Map>& values, bool bias) const {
  const Map& in = values[static_cast<size_t>(layer.inputs[0])];
  switch (layer.kind) {
    case LayerKind::convolution: {
      const auto weight = at(layer.name + ".weight");
      const auto out = static_cast<int64_t>(weight.size()) / (in.c * layer.kernel * layer.kernel);
      Map map = convolve(in, weight, out, layer.kernel);
      if (bias && layer.bias)
        for (size_t k = 0; k < map.v.size(); ++k)
          map.v[k] += at(layer.name + ".bias")[k / static_cast<size_t>(map.h * map.w)];
      return map;
    }
    case LayerKind::pool: {
      Map map(in.c, in.h / 2, in.w / 2);
      for (int64_t c = 0; c < in.c; ++c)
        for (int64_t y = 0; y < in.h; ++y)
          for (int64_t x = 0; x < in.w; ++x) map.at(c, y / 2, x / 2) += in.at(c, y, x) / 4;
      return map;
    }
    case LayerKind::upsample: {
      Map map(in.c, in.h * 2, in.w * 2);
      for (int64_t c = 0; c < map.c; ++c)
        for (int64_t y = 0; y < map.h; ++y)
          for (int64_t x = 0; x < map.w; ++x) map.at(c, y, x) = in.at(c, y / 2, x / 2);
      return map;
    }
    case LayerKind::add: {
      Map map = in;
      const Map& other = values[static_cast<size_t>(layer.inputs[1])];
      for (size_t k = 0; k < map.v.size(); ++k) map.v[k] += other.v[k];
      return map;
    }
    case LayerKind::concatenate: {
      const Map& other = values[static_cast<size_t>(layer.inputs[1])];
      Map map(in.c + other.c, in.h, in.w);
      std::ranges::copy(other.v, std::ranges::copy(in.v, map.v.begin()).out);
      return map;
    }
    default:
      fail("", "not a linear layer");
  }
}

void Reference::layer_backward(size_t i, const std::vector<Map>& from, std::vector<Map>& to) const {
  const Layer& layer = graph_.layers[i];
  const Map& d = from[i + 1];
  Map& first = to[static_cast<size_t>(layer.inputs[0])];
  switch (layer.kind) {
    case LayerKind::convolution:
      return add_convolved_back(d, at(layer.name + ".weight"), layer.kernel, first);
    case LayerKind::pool:
      for (int64_t c = 0; c < first.c; ++c)
        for (int64_t y = 0; y < first.h; ++y)
          for (int64_t x = 0; x < first.w; ++x) first.at(c, y, x) += d.at(c, y / 2, x / 2) / 4;
      return;
    case LayerKind::upsample:
      for (int64_t c = 0; c < d.c; ++c)
        for (int64_t y = 0; y < d.h; ++y)
          for (int64_t x = 0; x < d.w; ++x) first.at(c, y / 2, x / 2) += d.at(c, y, x);
      return;
    case LayerKind::add:
      for (const int input : layer.inputs)
        for (size_t k = 0; k < d.v.size(); ++k) to[static_cast<size_t>(input)].v[k] += d.v[k];
      return;
    case LayerKind::concatenate: {
      size_t k = 0;
      for (const int input : layer.inputs)
        for (double& value : to[static_cast<size_t>(input)].v) value += d.v[k++];
      return;
    }
    default:
      fail("", "not a linear layer");
  }
}

// Pass 1.
double Reference::forward(const Map& x, Tape& tape) const {
  const bool image_head = network::is_image_head(graph_.head);
  tape.x.assign(1, padded(x, image_head ? -0.5 : 0));
  for (const Layer& layer : graph_.layers) {
    if (is_pointwise(layer)) {
      Map map = tape.x[static_cast<size_t>(layer.inputs[0])];
      for (double& value : map.v) value = pointwise(layer.kind, value).value;
      tape.x.push_back(std::move(map));
    } else {
      tape.x.push_back(layer_forward(layer, tape.x, true));
    }
  }
  const Map &h = tape.x.back(), &y = tape.x.front();
  if (!network::has_energy(graph_.head)) return 0;
  if (image_head) {
    const Map f = cut(h), image = cut(y);
    double sum = 0;
    for (size_t k = 0; k < f.v.size(); ++k)
      sum += graph_.head == Head::predicted_noise    ? f.v[k] * f.v[k]
             : graph_.head == Head::squared_residual ? (image.v[k] - f.v[k]) * (image.v[k] - f.v[k])
                                                     : image.v[k] * (image.v[k] - f.v[k]);
    return sum / (2 * sigma0_ * sigma0_);
  }
  if (graph_.head == Head::linear) {
    double sum = at("ln.bias")[0];
    for (size_t k = 0; k < h.v.size(); ++k) sum += at("ln.weight")[k] * elu(h.v[k]);
    return sum;
  }
  const double p = dot(at("ln1.weight"), h.v) + at("ln1.bias")[0],
               q = dot(at("ln2.weight"), h.v) + at("ln2.bias")[0];
  double squares = 0;
  for (size_t k = 0; k < h.v.size(); ++k) squares += at("lq.weight")[k] * h.v[k] * h.v[k];
  return p * q + squares + at("lq.bias")[0];
}

// Pass 2: dE/d(.) of every value down to the image.
Map Reference::backward(Tape& tape) const {
  tape.delta = zeros();
  const Map &h = tape.x.back(), &y = tape.x.front();
  Map &delta = tape.delta.back(), &at_image = tape.delta.front();
  const double scale = 1 / (sigma0_ * sigma0_);
  if (network::is_image_head(graph_.head)) {
    for (int64_t c = 0; c < h.c; ++c)
      for (int64_t row = 0; row < image_.h; ++row)
        for (int64_t x = 0; x < image_.w; ++x) {
          const double f = h.at(c, row, x), value = y.at(c, row, x);
          if (graph_.head == Head::predicted_noise) {
            delta.at(c, row, x) = scale * f;
            continue;
          }
          const bool residual = graph_.head == Head::squared_residual;
          delta.at(c, row, x) = residual ? -scale * (value - f) : -scale * value / 2;
          at_image.at(c, row, x) = residual ? scale * (value - f) : scale * (value - f / 2);
        }
  } else if (graph_.head == Head::linear) {
    for (size_t k = 0; k < h.v.size(); ++k) delta.v[k] = at("ln.weight")[k] * elu_d1(h.v[k]);
  } else {
    const auto a = at("ln1.weight"), c = at("ln2.weight"), d = at("lq.weight");
    const double p = dot(a, h.v) + at("ln1.bias")[0], q = dot(c, h.v) + at("ln2.bias")[0];
    for (size_t k = 0; k < h.v.size(); ++k) delta.v[k] = a[k] * q + c[k] * p + 2 * d[k] * h.v[k];
  }
  backward_layers(tape);
  return cut(tape.delta.front());
}

void Reference::backward_layers(Tape& tape) const {
  for (size_t i = graph_.layers.size(); i-- > 0;) {
    const Layer& layer = graph_.layers[i];
    if (!is_pointwise(layer)) {
      layer_backward(i, tape.delta, tape.delta);
      continue;
    }
    const auto from = static_cast<size_t>(layer.inputs[0]);
    for (size_t k = 0; k < tape.delta[from].v.size(); ++k)
      tape.delta[from].v[k] += pointwise(layer.kind, tape.x[from].v[k]).slope * tape.delta[i + 1].v[k];
  }
}

// (y - F) / sigma0², or F / sigma0² where F is the noise, which is no gradient.
Map Reference::denoiser_gradient(const Tape& tape) const {
  Map g = cut(tape.x.front());
  const Map f = cut(tape.x.back());
  const bool noise = network::is_noise(graph_.head);
  for (size_t k = 0; k < g.v.size(); ++k) g.v[k] = (noise ? f.v[k] : g.v[k] - f.v[k]) / (sigma0_ * sigma0_);
  return g;
}

// The derivative of E by every parameter, from what passes 1 and 2 left behind.
void Reference::first_order(const Tape& tape, Vector& gradient) const {
  const Map& h = tape.x.back();
  if (graph_.head == Head::linear) {
    for (size_t i = 0; i < h.v.size(); ++i) in(gradient, "ln.weight")[i] += elu(h.v[i]);
    in(gradient, "ln.bias")[0] += 1;
  } else if (graph_.head == Head::quadratic) {
    const double p = dot(at("ln1.weight"), h.v) + at("ln1.bias")[0];
    const double q = dot(at("ln2.weight"), h.v) + at("ln2.bias")[0];
    for (size_t i = 0; i < h.v.size(); ++i) {
      in(gradient, "ln1.weight")[i] += q * h.v[i];
      in(gradient, "ln2.weight")[i] += p * h.v[i];
      in(gradient, "lq.weight")[i] += h.v[i] * h.v[i];
    }
    in(gradient, "ln1.bias")[0] += q;
    in(gradient, "ln2.bias")[0] += p;
    in(gradient, "lq.bias")[0] += 1;
  }
  for (size_t i = 0; i < graph_.layers.size(); ++i) {
    const Layer& layer = graph_.layers[i];
    if (layer.kind != LayerKind::convolution) continue;
    const Map& x = tape.x[static_cast<size_t>(layer.inputs[0])];
    add_weight_gradient(x, tape.delta[i + 1], layer.kernel, in(gradient, layer.name + ".weight"));
    if (layer.bias) add_bias_gradient(tape.delta[i + 1], in(gradient, layer.name + ".bias"));
  }
}

// Pass 3: derivative of everything along v, without biases. Returns that of E.
double Reference::tangent(const Map& v, Tape& tape) const {
  tape.x_dot.assign(1, padded(v, 0));
  for (const Layer& layer : graph_.layers) {
    if (!is_pointwise(layer)) {
      tape.x_dot.push_back(layer_forward(layer, tape.x_dot, false));
      continue;
    }
    const auto from = static_cast<size_t>(layer.inputs[0]);
    Map map = tape.x_dot[from];
    for (size_t k = 0; k < map.v.size(); ++k) map.v[k] *= pointwise(layer.kind, tape.x[from].v[k]).slope;
    tape.x_dot.push_back(std::move(map));
  }
  double direct = 0;  // past the network
  if (network::is_image_head(graph_.head) && graph_.head != Head::predicted_noise) {
    const Map y = cut(tape.x.front()), f = cut(tape.x.back());
    for (size_t k = 0; k < v.v.size(); ++k)
      direct += v.v[k] * (graph_.head == Head::squared_residual ? y.v[k] - f.v[k] : y.v[k] - f.v[k] / 2);
  }
  return dot(tape.delta.back().v, tape.x_dot.back().v) + direct / (sigma0_ * sigma0_);
}

// Passes 4 to 6: gamma = dEdot/d(.), and the derivative of Edot by every parameter.
void Reference::second_backward(Tape& tape, Vector& gradient) const {
  const Map &h = tape.x.back(), &h_dot = tape.x_dot.back();
  tape.gamma = zeros();
  Map& gamma = tape.gamma.back();
  if (network::is_image_head(graph_.head)) {
    const bool residual = graph_.head == Head::squared_residual;
    for (int64_t c = 0; c < h.c; ++c)
      for (int64_t y = 0; y < image_.h; ++y)
        for (int64_t x = 0; x < image_.w; ++x) {
          const double v = tape.x_dot.front().at(c, y, x);
          gamma.at(c, y, x) = graph_.head == Head::predicted_noise ? h_dot.at(c, y, x) / (sigma0_ * sigma0_)
                              : residual ? -(v - h_dot.at(c, y, x)) / (sigma0_ * sigma0_)
                                         : -v / (2 * sigma0_ * sigma0_);
        }
  } else if (graph_.head == Head::linear) {
    const auto grad = in(gradient, "ln.weight");
    for (size_t i = 0; i < h.v.size(); ++i) {
      gamma.v[i] = at("ln.weight")[i] * elu_d2(h.v[i]) * h_dot.v[i];
      grad[i] += elu_d1(h.v[i]) * h_dot.v[i];
    }
  } else {
    const auto a = at("ln1.weight"), c = at("ln2.weight"), d = at("lq.weight");
    const auto grad_a = in(gradient, "ln1.weight"), grad_c = in(gradient, "ln2.weight"),
               grad_d = in(gradient, "lq.weight");
    const double p = dot(a, h.v) + at("ln1.bias")[0], q = dot(c, h.v) + at("ln2.bias")[0];
    const double p_dot = dot(a, h_dot.v), q_dot = dot(c, h_dot.v);
    for (size_t i = 0; i < h.v.size(); ++i) {
      gamma.v[i] = a[i] * q_dot + c[i] * p_dot + 2 * d[i] * h_dot.v[i];
      grad_a[i] += h_dot.v[i] * q + h.v[i] * q_dot;
      grad_c[i] += h_dot.v[i] * p + h.v[i] * p_dot;
      grad_d[i] += 2 * h.v[i] * h_dot.v[i];
    }
    in(gradient, "ln1.bias")[0] += q_dot;
    in(gradient, "ln2.bias")[0] += p_dot;
  }
  for (size_t i = graph_.layers.size(); i-- > 0;) {
    const Layer& layer = graph_.layers[i];
    const auto from = static_cast<size_t>(layer.inputs[0]);
    const Map &g = tape.gamma[i + 1], &d = tape.delta[i + 1];
    if (is_pointwise(layer)) {
      // Both ways it takes part: its slope carries gamma, and its curvature turns delta and the rate of its
      // input into a change of slope.
      for (size_t k = 0; k < g.v.size(); ++k) {
        const Pointwise p = pointwise(layer.kind, tape.x[from].v[k]);
        tape.gamma[from].v[k] += p.slope * g.v[k] + p.bend * tape.x_dot[from].v[k] * d.v[k];
      }
      continue;
    }
    if (layer.kind == LayerKind::convolution) {
      add_weight_gradient(tape.x[from], g, layer.kernel, in(gradient, layer.name + ".weight"));
      add_weight_gradient(tape.x_dot[from], d, layer.kernel, in(gradient, layer.name + ".weight"));
      if (layer.bias) add_bias_gradient(g, in(gradient, layer.name + ".bias"));
    }
    layer_backward(i, tape.gamma, tape.gamma);
  }
}

}  // namespace mdsm::test
