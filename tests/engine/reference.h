// A double-precision network in plain loops, one image at a time, with the six passes of the training
// gradient written out pass by pass (docs/design/second_order.md). Slow and simple on purpose: every engine
// is measured against it, and it is itself measured against central differences and float64 autograd.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "network/spec.h"

namespace mdsm::test {

using Vector = std::vector<double>;

// One image's feature map: c x s x s values.
struct Map {
  int64_t c = 0, s = 0;
  Vector v;

  Map() = default;
  Map(int64_t channels, int64_t size)
      : c(channels), s(size), v(static_cast<size_t>(channels * size * size)) {}
  double& at(int64_t k, int64_t y, int64_t x) { return v[static_cast<size_t>((k * s + y) * s + x)]; }
  double at(int64_t k, int64_t y, int64_t x) const { return v[static_cast<size_t>((k * s + y) * s + x)]; }
};

struct Objective {
  double energy = 0;
  double residual = 0;    // ‖x - noisy + sigma0² grad_x‖²
  double v_dot_g = 0;     // <v, grad_x>, v = dLoss/dgrad_x
  double energy_dot = 0;  // derivative of E along v, from the tangent pass; equals v_dot_g
};

class Reference {
 public:
  Reference(const network::Spec& spec, Vector parameters);
  Reference(const network::Spec& spec, std::span<const float> parameters)
      : Reference(spec, Vector(parameters.begin(), parameters.end())) {}

  Vector& parameters() { return parameters_; }
  const std::vector<network::ParameterInfo>& layout() const { return layout_; }

  double energy(const Map& x) const;
  Map grad_x(const Map& x) const;  // +dE/dx
  // Returns E; weight dE/dparameters is added to gradient.
  double energy_gradient(const Map& x, double weight, Vector& gradient) const;
  // weight ‖x - noisy + sigma0² grad_x(noisy)‖²; its derivative by the parameters is added to gradient.
  Objective objective(const Map& x, const Map& noisy, double weight, Vector& gradient) const;

 private:
  // What the passes leave behind, for one block.
  struct BlockTape {
    Map h, a, u, b;                  // forward: input, ELU(h), conv_1(a), ELU(u)
    Map delta_a, delta_u, delta_b;   // backward: dE/d(.)
    Map h_dot, a_dot, u_dot, b_dot;  // tangent: derivative along v
  };
  struct Tape {
    Map x, last, x_dot, last_dot;  // image and the head's input
    std::vector<BlockTape> blocks;
    std::vector<Map> delta;  // dE/dh at the output of conv1 and of each block; delta[0] is at conv1's output
  };

  double forward(const Map& x, Tape& tape) const;
  Map backward(Tape& tape) const;
  void first_order(const Tape& tape, Vector& gradient) const;
  double tangent(const Map& v, Tape& tape) const;
  void second_backward(const Tape& tape, Vector& gradient) const;

  std::span<const double> at(const std::string& name) const;
  std::span<double> in(Vector& gradient, const std::string& name) const;

  network::Spec spec_;
  std::vector<network::Block> blocks_;
  std::vector<network::ParameterInfo> layout_;
  Vector parameters_;
};

}  // namespace mdsm::test
