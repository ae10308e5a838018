// The first of the two seams: what a network can compute. Trainer, samplers and evaluators know this header
// and no implementation. Implementations: native (CPU, oneDNN and own kernels), torch (LibTorch, a module
// loaded when asked for), check (runs two engines and compares).
//
// Conventions: images are float32 N,C,H,W; grad_x is +dE/dx (the score is its negative); any batch size. An
// engine keeps one set of buffers and is used by one thread at a time; different engines may run side by
// side. Public methods check shapes and finiteness of what they are given, call the private *_impl for the
// network, and add the spec's bowl, which has no parameters.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "model/parameters.h"

namespace mdsm {

// One update of Adam and of the moving average, with the step's own numbers already worked out by the caller.
struct AdamStep {
  int64_t step = 1;  // 1 for the first update; used for bias correction
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double gradient_scale = 1;  // clipping: the gradient is multiplied by it first
  double ema = 0.999;         // decay of the moving average of the weights
};

// Flat vectors of parameter_count() values that an engine holds on its device.
enum class StateVector { weights, ema, adam_m, adam_v, gradient };

// Who adds the bowl of the spec to what the *_impl compute: the public methods of Engine, for a network;
// nobody, for an engine made of engines that have done so.
enum class BowlAdded { here, inside };

class Engine {
 public:
  Engine(const Spec& spec, BowlAdded bowl);
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Spec& spec() const { return spec_; }
  virtual std::string name() const = 0;  // "native", "torch (cpu)", ...

  // energy: (N)
  void energy(ConstTensorView x, std::span<float> energy);
  // energy: (N), grad_x: (N,C,H,W)
  void energy_and_gradient(ConstTensorView x, std::span<float> energy, TensorView grad_x);

  // The denoising objective, sum_n weight_n ‖x_n - noisy_n + sigma0² grad_x(noisy_n)‖² (paper, equation for
  // L_MDSM). Adds its derivative by the parameters to the gradient vector, so that micro-batches add up.
  // residual: (N) gets ‖x - noisy + sigma0² grad_x‖² without the weight, energy: (N) gets E(noisy).
  void objective_gradient(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                          std::span<float> residual, std::span<float> energy);

  // Adds sum_n weight_n dE(x_n)/dtheta to the gradient vector; energy: (N) gets E(x). For maximum likelihood.
  void energy_gradient(ConstTensorView x, std::span<const float> weight, std::span<float> energy);

  void zero_gradient() { zero_gradient_impl(); }
  double gradient_norm() { return gradient_norm_impl(); }  // NaN or infinity when a value is
  void optimiser_step(const AdamStep& step) { optimiser_step_impl(step); }

  // Copies between the engine's device and flat host memory in parameter_layout() order. The optimiser's
  // vectors and the average start as: adam_m = adam_v = gradient = 0, ema = weights.
  void read(StateVector which, std::span<float> out) const;
  void write(StateVector which, std::span<const float> values);

 private:
  virtual void energy_impl(ConstTensorView x, std::span<float> energy) = 0;
  virtual void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) = 0;
  virtual void objective_gradient_impl(ConstTensorView x, ConstTensorView noisy,
                                       std::span<const float> weight, std::span<float> residual,
                                       std::span<float> energy) = 0;
  virtual void energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                                    std::span<float> energy) = 0;
  virtual void zero_gradient_impl() = 0;
  virtual double gradient_norm_impl() = 0;
  virtual void optimiser_step_impl(const AdamStep& step) = 0;
  virtual void read_impl(StateVector which, std::span<float> out) const = 0;
  virtual void write_impl(StateVector which, std::span<const float> values) = 0;

  void check_images(ConstTensorView x, const char* what) const;
  void add_bowl(ConstTensorView x, std::span<float> energy) const;

  Spec spec_;
  double bowl_ = 0;
  Tensor target_;  // x + bowl * noisy
};

struct EngineOptions {
  std::string engine = "native";  // native, torch, check
  std::string device = "cpu";     // cpu, cuda, cuda:K (torch and check only)
  bool exact = false;             // native and check: direct convolutions only, none of Winograd's
};

// Throws when the engine or device does not exist here; never falls back to another one.
std::unique_ptr<Engine> make_engine(const EngineOptions& options, const Parameters& parameters);

// Names of the engines this build and machine can make, for --version.
std::vector<std::string> available_engines();

}  // namespace mdsm
