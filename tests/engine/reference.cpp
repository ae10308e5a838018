#include "engine/reference.h"

#include <cmath>

#include "core/error.h"

namespace mdsm::test {
namespace {

// Calls body(out channel, in channel, kernel y, kernel x, y, x, source y, source x) for every product of a k
// x k convolution with padding k/2. The three uses below are the convolution, its transpose and its
// derivative by the weights, so all of them share one definition of which input meets which weight.
template <class Body>
void for_each_product(int64_t out, int64_t in, int64_t k, int64_t size, const Body& body) {
  const int64_t pad = k / 2;
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = 0; i < in; ++i)
      for (int64_t ky = 0; ky < k; ++ky)
        for (int64_t kx = 0; kx < k; ++kx) {
          const size_t w = static_cast<size_t>(((o * in + i) * k + ky) * k + kx);
          for (int64_t y = std::max<int64_t>(0, pad - ky); y < std::min(size, size + pad - ky); ++y)
            for (int64_t x = std::max<int64_t>(0, pad - kx); x < std::min(size, size + pad - kx); ++x)
              body(w, o, y, x, i, y + ky - pad, x + kx - pad);
        }
}

Map convolve(const Map& in, std::span<const double> weight, int64_t out, int64_t k) {
  Map result(out, in.s);
  for_each_product(out, in.c, k, in.s,
                   [&](size_t w, int64_t o, int64_t y, int64_t x, int64_t i, int64_t sy, int64_t sx) {
                     result.at(o, y, x) += weight[w] * in.at(i, sy, sx);
                   });
  return result;
}

Map convolve_transposed(const Map& delta, std::span<const double> weight, int64_t in, int64_t k) {
  Map result(in, delta.s);
  for_each_product(delta.c, in, k, delta.s,
                   [&](size_t w, int64_t o, int64_t y, int64_t x, int64_t i, int64_t sy, int64_t sx) {
                     result.at(i, sy, sx) += weight[w] * delta.at(o, y, x);
                   });
  return result;
}

void add_weight_gradient(const Map& in, const Map& delta, int64_t k, std::span<double> gradient) {
  for_each_product(delta.c, in.c, k, in.s,
                   [&](size_t w, int64_t o, int64_t y, int64_t x, int64_t i, int64_t sy, int64_t sx) {
                     gradient[w] += delta.at(o, y, x) * in.at(i, sy, sx);
                   });
}

void add_bias_gradient(const Map& delta, std::span<double> gradient) {
  for (size_t i = 0; i < delta.v.size(); ++i)
    gradient[i / static_cast<size_t>(delta.s * delta.s)] += delta.v[i];
}

void add_bias(Map& map, std::span<const double> bias) {
  for (size_t i = 0; i < map.v.size(); ++i) map.v[i] += bias[i / static_cast<size_t>(map.s * map.s)];
}

Map pool(const Map& in) {
  Map out(in.c, in.s / 2);
  for (int64_t k = 0; k < in.c; ++k)
    for (int64_t y = 0; y < in.s; ++y)
      for (int64_t x = 0; x < in.s; ++x) out.at(k, y / 2, x / 2) += in.at(k, y, x) / 4;
  return out;
}

Map pool_transposed(const Map& delta) {
  Map out(delta.c, delta.s * 2);
  for (int64_t k = 0; k < out.c; ++k)
    for (int64_t y = 0; y < out.s; ++y)
      for (int64_t x = 0; x < out.s; ++x) out.at(k, y, x) = delta.at(k, y / 2, x / 2) / 4;
  return out;
}

double elu(double x) { return x > 0 ? x : std::expm1(x); }
double elu_d1(double x) { return x > 0 ? 1 : std::exp(x); }
double elu_d2(double x) { return x > 0 ? 0 : std::exp(x); }

// Element by element over maps of one shape: the result's i-th value is f(a_i, b_i, ...).
template <class F, class... Maps>
Map each(const F& f, const Map& first, const Maps&... rest) {
  Map out(first.c, first.s);
  for (size_t i = 0; i < out.v.size(); ++i) out.v[i] = f(first.v[i], rest.v[i]...);
  return out;
}

Map sum(const Map& a, const Map& b) {
  return each([](double p, double q) { return p + q; }, a, b);
}

double dot(std::span<const double> a, std::span<const double> b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

std::string inner(const network::Block& block) { return block.down ? ".conv.conv" : ".conv"; }
std::string conv_1(const network::Block& block) { return block.name + ".conv_1.conv"; }
std::string conv_2(const network::Block& block) { return block.name + ".conv_2" + inner(block); }
std::string shortcut(const network::Block& block) { return block.name + ".conv_shortcut" + inner(block); }

}  // namespace

Reference::Reference(const network::Spec& spec, Vector parameters)
    : spec_(spec),
      blocks_(network::blocks(spec)),
      layout_(network::parameter_layout(spec)),
      parameters_(std::move(parameters)) {}

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

double Reference::energy(const Map& x) const {
  Tape tape;
  return forward(x, tape);
}

Map Reference::grad_x(const Map& x) const {
  Tape tape;
  forward(x, tape);
  return backward(tape);
}

Objective Reference::objective(const Map& x, const Map& noisy, double weight, Vector& gradient) const {
  Tape tape;
  Objective result;
  const double sigma0_squared = spec_.sigma0 * spec_.sigma0;
  result.energy = forward(noisy, tape);
  const Map g = backward(tape);
  const Map r = each([&](double c, double n, double d) { return c - n + sigma0_squared * d; }, x, noisy, g);
  const Map v = each([&](double value) { return 2 * sigma0_squared * weight * value; }, r);
  result.residual = dot(r.v, r.v);
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

// Pass 1.
double Reference::forward(const Map& x, Tape& tape) const {
  tape.x = x;
  tape.blocks.resize(blocks_.size());
  Map h = convolve(x, at("conv1.conv.weight"), spec_.width, 3);
  add_bias(h, at("conv1.conv.bias"));
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const network::Block& block = blocks_[i];
    BlockTape& t = tape.blocks[i];
    t.h = h;
    t.a = each(elu, t.h);
    t.u = convolve(t.a, at(conv_1(block) + ".weight"), block.in, 3);
    t.b = each(elu, t.u);
    Map out = convolve(t.b, at(conv_2(block) + ".weight"), block.out, 3);
    add_bias(out, at(conv_2(block) + ".bias"));
    h = convolve(block.down ? pool(t.h) : t.h, at(shortcut(block) + ".weight"), block.out, 1);
    add_bias(h, at(shortcut(block) + ".bias"));
    h = sum(h, block.down ? pool(out) : out);
  }
  tape.last = h;
  if (spec_.head == network::Head::linear) return dot(at("ln.weight"), each(elu, h).v) + at("ln.bias")[0];
  const double p = dot(at("ln1.weight"), h.v) + at("ln1.bias")[0];
  const double q = dot(at("ln2.weight"), h.v) + at("ln2.bias")[0];
  const Map squares = each([](double value) { return value * value; }, h);
  return p * q + dot(at("lq.weight"), squares.v) + at("lq.bias")[0];
}

// Pass 2: dE/d(.) of every tensor down to the image.
Map Reference::backward(Tape& tape) const {
  const Map& h = tape.last;
  Map delta(h.c, h.s);
  if (spec_.head == network::Head::linear) {
    for (size_t i = 0; i < h.v.size(); ++i) delta.v[i] = at("ln.weight")[i] * elu_d1(h.v[i]);
  } else {
    const auto a = at("ln1.weight"), c = at("ln2.weight"), d = at("lq.weight");
    const double p = dot(a, h.v) + at("ln1.bias")[0], q = dot(c, h.v) + at("ln2.bias")[0];
    for (size_t i = 0; i < h.v.size(); ++i) delta.v[i] = a[i] * q + c[i] * p + 2 * d[i] * h.v[i];
  }
  tape.delta.assign(blocks_.size() + 1, Map());
  const auto chain = [](double outer, double input) { return outer * elu_d1(input); };
  for (size_t i = blocks_.size(); i-- > 0;) {
    const network::Block& block = blocks_[i];
    BlockTape& t = tape.blocks[i];
    tape.delta[i + 1] = delta;
    const Map full = block.down ? pool_transposed(delta) : delta;
    t.delta_b = convolve_transposed(full, at(conv_2(block) + ".weight"), block.in, 3);
    t.delta_u = each(chain, t.delta_b, t.u);
    t.delta_a = convolve_transposed(t.delta_u, at(conv_1(block) + ".weight"), block.in, 3);
    const Map side = convolve_transposed(delta, at(shortcut(block) + ".weight"), block.in, 1);
    delta = sum(each(chain, t.delta_a, t.h), block.down ? pool_transposed(side) : side);
  }
  tape.delta[0] = delta;
  return convolve_transposed(delta, at("conv1.conv.weight"), spec_.channels, 3);
}

// The derivative of E by every parameter, from what passes 1 and 2 left behind.
void Reference::first_order(const Tape& tape, Vector& gradient) const {
  const Map& h = tape.last;
  if (spec_.head == network::Head::linear) {
    for (size_t i = 0; i < h.v.size(); ++i) in(gradient, "ln.weight")[i] += elu(h.v[i]);
    in(gradient, "ln.bias")[0] += 1;
  } else {
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
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const network::Block& block = blocks_[i];
    const BlockTape& t = tape.blocks[i];
    const Map& delta = tape.delta[i + 1];
    const Map full = block.down ? pool_transposed(delta) : delta;
    add_weight_gradient(t.a, t.delta_u, 3, in(gradient, conv_1(block) + ".weight"));
    add_weight_gradient(t.b, full, 3, in(gradient, conv_2(block) + ".weight"));
    add_bias_gradient(full, in(gradient, conv_2(block) + ".bias"));
    add_weight_gradient(block.down ? pool(t.h) : t.h, delta, 1, in(gradient, shortcut(block) + ".weight"));
    add_bias_gradient(delta, in(gradient, shortcut(block) + ".bias"));
  }
  add_weight_gradient(tape.x, tape.delta[0], 3, in(gradient, "conv1.conv.weight"));
  add_bias_gradient(tape.delta[0], in(gradient, "conv1.conv.bias"));
}

// Pass 3: derivative of everything along v, without biases. Returns that of E.
double Reference::tangent(const Map& v, Tape& tape) const {
  tape.x_dot = v;
  const auto chain = [](double rate, double input) { return rate * elu_d1(input); };
  Map h_dot = convolve(v, at("conv1.conv.weight"), spec_.width, 3);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const network::Block& block = blocks_[i];
    BlockTape& t = tape.blocks[i];
    t.h_dot = h_dot;
    t.a_dot = each(chain, t.h_dot, t.h);
    t.u_dot = convolve(t.a_dot, at(conv_1(block) + ".weight"), block.in, 3);
    t.b_dot = each(chain, t.u_dot, t.u);
    const Map out = convolve(t.b_dot, at(conv_2(block) + ".weight"), block.out, 3);
    h_dot = convolve(block.down ? pool(t.h_dot) : t.h_dot, at(shortcut(block) + ".weight"), block.out, 1);
    h_dot = sum(h_dot, block.down ? pool(out) : out);
  }
  tape.last_dot = h_dot;
  return dot(tape.delta.back().v, h_dot.v);
}

// Passes 4 to 6: gamma = dEdot/d(.), and the derivative of Edot by every parameter.
void Reference::second_backward(const Tape& tape, Vector& gradient) const {
  const Map &h = tape.last, &h_dot = tape.last_dot;
  Map gamma(h.c, h.s);
  if (spec_.head == network::Head::linear) {
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

  // Both ways an ELU takes part: its slope carries gamma, and its curvature turns delta and the rate of its
  // input into a change of slope.
  const auto through_elu = [](double gamma_out, double delta_out, double input, double input_dot) {
    return gamma_out * elu_d1(input) + delta_out * elu_d2(input) * input_dot;
  };
  for (size_t i = blocks_.size(); i-- > 0;) {
    const network::Block& block = blocks_[i];
    const BlockTape& t = tape.blocks[i];
    const Map& delta = tape.delta[i + 1];
    const Map gamma_full = block.down ? pool_transposed(gamma) : gamma;
    const Map delta_full = block.down ? pool_transposed(delta) : delta;
    add_weight_gradient(t.b, gamma_full, 3, in(gradient, conv_2(block) + ".weight"));
    add_weight_gradient(t.b_dot, delta_full, 3, in(gradient, conv_2(block) + ".weight"));
    add_bias_gradient(gamma_full, in(gradient, conv_2(block) + ".bias"));
    const Map gamma_b = convolve_transposed(gamma_full, at(conv_2(block) + ".weight"), block.in, 3);
    const Map gamma_u = each(through_elu, gamma_b, t.delta_b, t.u, t.u_dot);

    add_weight_gradient(t.a, gamma_u, 3, in(gradient, conv_1(block) + ".weight"));
    add_weight_gradient(t.a_dot, t.delta_u, 3, in(gradient, conv_1(block) + ".weight"));
    const Map gamma_a = convolve_transposed(gamma_u, at(conv_1(block) + ".weight"), block.in, 3);

    const std::string side = shortcut(block);
    add_weight_gradient(block.down ? pool(t.h) : t.h, gamma, 1, in(gradient, side + ".weight"));
    add_weight_gradient(block.down ? pool(t.h_dot) : t.h_dot, delta, 1, in(gradient, side + ".weight"));
    add_bias_gradient(gamma, in(gradient, side + ".bias"));
    const Map back = convolve_transposed(gamma, at(side + ".weight"), block.in, 1);
    gamma =
        sum(each(through_elu, gamma_a, t.delta_a, t.h, t.h_dot), block.down ? pool_transposed(back) : back);
  }
  add_weight_gradient(tape.x, gamma, 3, in(gradient, "conv1.conv.weight"));
  add_weight_gradient(tape.x_dot, tape.delta[0], 3, in(gradient, "conv1.conv.weight"));
  add_bias_gradient(gamma, in(gradient, "conv1.conv.bias"));
}

}  // namespace mdsm::test
