// What can be trained: an energy that is a network, with the gradients of objectives by its parameters, an
// optimiser, and its state as flat vectors. Trainer, checkpoints and sums over processes know this header.
// Implementations: native (CPU, oneDNN and own kernels), torch (LibTorch, a module loaded when asked for),
// check (runs two and compares). registry/registry.h makes them by name and says how much memory they need.
#pragma once

#include <span>
#include <string>

#include "core/enum_names.h"
#include "engine/energy_model.h"
#include "network/parameters.h"

namespace mdsm::engine {

// What turns a gradient into an update. muon: weights of convolutions between maps move by their momentum
// made orthogonal (native/muon.h), all others by Adam.
enum class Optimiser { adam, muon };
constexpr auto enum_names(Optimiser) {
  return names_of<Optimiser>({{Optimiser::adam, "adam"}, {Optimiser::muon, "muon"}});
}

// One update of the weights and of their moving average, with the step's own numbers already worked out by
// the caller.
struct OptimiserStep {
  int64_t step = 1;  // 1 for the first update; used for bias correction
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double gradient_scale = 1;  // clipping: the gradient is multiplied by it first
  double ema = 0.999;         // decay of the moving average of the weights
  Optimiser optimiser = Optimiser::adam;
  double weight_decay = 0;  // an update first takes this share, times the rate, from every decaying weight

  float kept() const { return static_cast<float>(1 - lr * weight_decay); }
};

// Whether weight decay takes from these parameters: from weights, not from biases.
bool is_decaying(const network::ParameterInfo& info);

// Whether muon takes these weights as a matrix (out, in k k): convolutions between maps, not from or to an
// image, whose few channels leave nothing to make orthogonal; no biases.
bool is_muon_matrix(const network::ParameterInfo& info);
// Of an orthogonal update, so that its values have 0.2 times the rate as their mean size, about what Adam's
// have (Liu and others, 2025): one learning rate is for both.
double muon_scale(int64_t rows, int64_t columns);
// The polynomial a x + b x³ + c x⁵ that Newton and Schulz's iteration applies to every singular value.
constexpr double kNewtonSchulz[3] = {3.4445, -4.7750, 2.0315};
constexpr int kNewtonSchulzRounds = 5;

// Flat vectors of parameter_count() values that an engine holds on its device.
enum class StateVector { weights, ema, adam_m, adam_v, gradient };

// Bytes that an engine needs: for its weights and copies of them in other orders, without training; in
// training, the optimiser's vectors too; and of working memory for a call on a batch.
struct MemoryNeed {
  size_t weights = 0, training_weights = 0;
  size_t energy = 0, gradient = 0, training = 0;
};

// Pixels of an image: rows from top on, columns from left on.
struct Window {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

class TrainableEnergy : public EnergyModel {
 public:
  explicit TrainableEnergy(const network::Spec& spec);

  const network::Spec& spec() const { return spec_; }
  bool has_energy() const override { return network::has_energy(spec_.head); }
  virtual std::string name() const = 0;  // "native", "torch (cpu)", ...

  // Energies that are sums over pixels (image heads): from now on only the terms of the pixels in the window
  // count, in the energy and all its derivatives. The rest of the image is what they see around them.
  void set_window(const Window& window);

  // The denoising objective, sum_n weight_n ‖x_n - noisy_n + sigma0² grad_x(noisy_n)‖² (paper, equation for
  // L_MDSM). Adds its derivative by the parameters to the gradient vector, so that micro-batches add up.
  // residual: (N) gets ‖x - noisy + sigma0² grad_x‖² without the weight, energy: (N) gets E(noisy).
  void objective_gradient(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                          std::span<float> residual, std::span<float> energy);

  // The same of the network itself as a denoiser, sum_n weight_n ‖x_n - D(noisy_n)‖², which takes no
  // second-order passes (image heads): D = 1/2 + F, or noisy - F where F is the predicted noise. residual:
  // (N) gets ‖x - D‖².
  void denoiser_gradient(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                         std::span<float> residual, std::span<float> energy);

  // Adds sum_n weight_n dE(x_n)/dtheta to the gradient vector; energy: (N) gets E(x). For maximum likelihood.
  void energy_gradient(ConstTensorView x, std::span<const float> weight, std::span<float> energy);

  void zero_gradient() { zero_gradient_impl(); }
  double gradient_norm() { return gradient_norm_impl(); }  // NaN or infinity when a value is
  void optimiser_step(const OptimiserStep& step) { optimiser_step_impl(step); }

  // Copies between the engine's device and flat host memory in parameter_layout() order. The optimiser's
  // vectors and the average start as: adam_m = adam_v = gradient = 0, ema = weights.
  void read(StateVector which, std::span<float> out) const;
  void write(StateVector which, std::span<const float> values);

 private:
  void check_pairs(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                   std::span<const float> residual, std::span<const float> energy) const;

  virtual void objective_gradient_impl(ConstTensorView x, ConstTensorView noisy,
                                       std::span<const float> weight, std::span<float> residual,
                                       std::span<float> energy) = 0;
  virtual void denoiser_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                                      std::span<float> residual, std::span<float> energy) = 0;
  virtual void energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                                    std::span<float> energy) = 0;
  virtual void set_window_impl(const Window& window) = 0;
  virtual void zero_gradient_impl() = 0;
  virtual double gradient_norm_impl() = 0;
  virtual void optimiser_step_impl(const OptimiserStep& step) = 0;
  virtual void read_impl(StateVector which, std::span<float> out) const = 0;
  virtual void write_impl(StateVector which, std::span<const float> values) = 0;

  network::Spec spec_;
};

}  // namespace mdsm::engine
