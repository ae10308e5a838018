// The head of the network on the flattened last feature map, in the engine's blocked order: energies, their
// derivative by the features (delta), and the second-order terms (gamma and the parameter gradient).
//
// Quadratic: E = (a·h + b1)(c·h + b2) + d·h² + b3. Linear: E = w·ELU(h) + b.
#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"
#include "engine/native/layout.h"
#include "network/graph.h"

namespace mdsm::engine::native {

class HeadLayer {
 public:
  HeadLayer(const network::Graph& graph, const Shape& image, Layout layout);

  void set(std::span<const float> parameters);  // in parameter_layout() order

  // h, delta, hdot, gamma: (n, features in blocked order, padded). energy: (n)
  void energy(const float* h, std::span<float> energy);
  // To be called after energy() on the same h.
  void delta(const float* h, int64_t n, float* delta);
  // The same times the images' weights, and adds sum_n weight_n dE_n/dparameters to the flat gradient.
  void first_order(const float* h, std::span<const float> weight, float* delta, std::span<float> gradient);
  // gamma = dEdot/dh, and adds dEdot/dparameters to the flat gradient.
  void second_order(const float* h, const float* hdot, int64_t n, float* gamma, std::span<float> gradient);

 private:
  struct Vector {  // one linear layer of the head
    network::ParameterInfo weight, bias;
    FloatBuffer packed;
    float offset = 0;
  };
  void add_unpacked(const std::vector<float>& packed, const Vector& to, std::span<float> gradient) const;
  double dot(const Vector& vector, const float* h) const;
  void add_first_order_quadratic(const float* h, std::span<const float> weight, std::span<float> gradient);
  void add_first_order_linear(const float* h, std::span<const float> weight, std::span<float> gradient);
  void second_order_quadratic(const float* h, const float* hdot, int64_t n, float* gamma,
                              std::span<float> gradient);
  void second_order_linear(const float* h, const float* hdot, int64_t n, float* gamma,
                           std::span<float> gradient);

  network::Head kind_;
  int64_t count_;                // features with padding
  std::vector<int32_t> plain_;   // plain index of each blocked position, -1 for padding
  std::vector<Vector> vectors_;  // ln1, ln2, lq; or ln
  std::vector<float> p_, q_;     // a·h + b1 and c·h + b2 of the last energy() call
};

}  // namespace mdsm::engine::native
