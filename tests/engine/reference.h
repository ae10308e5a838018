// A double-precision network in plain loops, one image at a time: a walk over the list of layers, with the
// six passes of the training gradient as the table of docs/design/second_order.md has them, a line for each
// kind of layer. Slow and simple on purpose: every engine is measured against it, and it is itself measured
// against central differences and float64 autograd.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "network/graph.h"

namespace mdsm::test {

using Vector = std::vector<double>;

// One image's feature map: c x h x w values.
struct Map {
  int64_t c = 0, h = 0, w = 0;
  Vector v;

  Map() = default;
  Map(int64_t channels, int64_t height, int64_t width)
      : c(channels), h(height), w(width), v(static_cast<size_t>(channels * height * width)) {}
  double& at(int64_t k, int64_t y, int64_t x) { return v[static_cast<size_t>((k * h + y) * w + x)]; }
  double at(int64_t k, int64_t y, int64_t x) const { return v[static_cast<size_t>((k * h + y) * w + x)]; }
};

struct Objective {
  double energy = 0;
  double residual = 0;    // ‖x - noisy + sigma0² grad_x‖²
  double v_dot_g = 0;     // <v, grad_x>, v = dLoss/dgrad_x
  double energy_dot = 0;  // derivative of E along v, from the tangent pass; equals v_dot_g
};

class Reference {
 public:
  Reference(const network::Spec& spec, Vector parameters)
      : Reference(network::make_graph(spec), spec.input(1), spec.sigma0, std::move(parameters)) {}
  // Of any list of layers.
  Reference(network::Graph graph, const Shape& image, double sigma0, Vector parameters);
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
  // Of every value: itself, dE/d(.), its derivative along v, dEdot/d(.).
  struct Tape {
    std::vector<Map> x, delta, x_dot, gamma;
  };

  double forward(const Map& x, Tape& tape) const;
  Map backward(Tape& tape) const;
  void backward_layers(Tape& tape) const;  // from delta of the last value
  Map denoiser_gradient(const Tape& tape) const;
  void first_order(const Tape& tape, Vector& gradient) const;
  double tangent(const Map& v, Tape& tape) const;
  void second_backward(Tape& tape, Vector& gradient) const;

  Map layer_forward(const network::Layer& layer, const std::vector<Map>& values, bool bias) const;
  // Adds what comes back through a layer to `to`, one map a value.
  void layer_backward(size_t i, const std::vector<Map>& from, std::vector<Map>& to) const;
  Map padded(const Map& image, double offset) const;
  Map cut(const Map& map) const;
  std::vector<Map> zeros() const;
  bool inside(int64_t y, int64_t x) const { return y < image_.h && x < image_.w; }

  std::span<const double> at(const std::string& name) const;
  std::span<double> in(Vector& gradient, const std::string& name) const;

  network::Graph graph_;
  double sigma0_;
  Shape image_, whole_;  // as given, and filled up to what the network takes
  std::vector<network::ParameterInfo> layout_;
  Vector parameters_;
};

}  // namespace mdsm::test
