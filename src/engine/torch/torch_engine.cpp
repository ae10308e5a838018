// The LibTorch engine and two functions of the module: owns the flat vectors on the device, copies
// between them and host memory, runs Adam and the moving average there. The network itself is
// torch_network.h's. Every exception of LibTorch becomes one mdsm::Error with one line.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "core/error.h"
#include "engine/bowl.h"
#include "engine/torch/torch_guard.h"
#include "engine/torch/torch_network.h"
#include "engine/torch_module.h"

namespace mdsm::engine {
namespace {

class TorchEngine : public TrainableEnergy {
 public:
  TorchEngine(const network::Parameters& parameters, const torch::Device& device, Precision precision,
              int (*threads)())
      : TrainableEnergy(parameters.spec()),
        device_(device),
        precision_(precision),
        threads_(threads),
        weights_(to_device(parameters.values(), {network::parameter_count(parameters.spec())}).clone()),
        ema_(weights_.clone()),
        adam_m_(torch::zeros_like(weights_)),
        adam_v_(torch::zeros_like(weights_)),
        gradient_(torch::zeros_like(weights_)),
        network_(parameters.spec(), weights_, precision == Precision::bfloat16),
        layout_(parameters.layout()) {}

  std::string name() const override { return "torch (" + device_.str() + ")"; }

 private:
  // Runs the body with LibTorch's errors translated and its threads as the program wants them.
  template <class Body>
  auto run(const Body& body) const -> decltype(body()) {
    return guarded([&] {
      if (const int wanted = threads_(); at::get_num_threads() != wanted) at::set_num_threads(wanted);
      // Of the whole process, so every engine sets its own.
      at::globalContext().setAllowTF32CuDNN(precision_ == Precision::tf32);
      at::globalContext().setAllowTF32CuBLAS(precision_ == Precision::tf32);
      return body();
    });
  }

  // On the CPU the result shares the host's memory; it must not be kept or written.
  torch::Tensor to_device(std::span<const float> values, std::vector<int64_t> shape) const {
    return torch::from_blob(const_cast<float*>(values.data()), shape, torch::kFloat32).to(device_);
  }
  torch::Tensor images(ConstTensorView x) const {
    return to_device(x.values(), {x.shape.n, x.shape.c, x.shape.h, x.shape.w});
  }
  static void to_host(const torch::Tensor& from, std::span<float> out) {
    torch::from_blob(out.data(), from.sizes(), torch::kFloat32).copy_(from.detach());
  }

  void energy_impl(ConstTensorView x, std::span<float> energy) override {
    run([&] {
      const torch::NoGradGuard guard;
      to_host(network_.energy(images(x)), energy);
    });
  }

  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    run([&] {
      if (!network::has_energy(spec().head)) {
        const torch::NoGradGuard guard;
        std::ranges::fill(energy, 0.0f);
        return to_host(network_.denoiser_gradient(images(x)), grad_x.values());
      }
      const torch::Tensor input = images(x).detach().requires_grad_(true);
      const torch::Tensor e = network_.energy(input);
      to_host(TorchNetwork::input_gradient(e, input, false), grad_x.values());
      to_host(e, energy);
    });
  }

  void objective_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                               std::span<float> residual, std::span<float> energy) override {
    run([&] {
      const auto result = network_.objective(images(x), images(noisy), to_device(weight, {x.shape.n}));
      add_gradients(result.gradients);
      to_host(result.residual, residual);
      to_host(result.energy, energy);
    });
  }

  void denoiser_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                              std::span<float> residual, std::span<float> energy) override {
    run([&] {
      const auto result = network_.denoising(images(x), images(noisy), to_device(weight, {x.shape.n}));
      add_gradients(result.gradients);
      to_host(result.residual, residual);
      to_host(result.energy, energy);
    });
  }

  void energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                            std::span<float> energy) override {
    run([&] {
      const auto result = network_.weighted_energy(images(x), to_device(weight, {x.shape.n}));
      add_gradients(result.gradients);
      to_host(result.energy, energy);
    });
  }

  void add_gradients(const std::vector<torch::Tensor>& gradients) {
    const torch::NoGradGuard guard;
    for (size_t i = 0; i < layout_.size(); ++i)
      if (const torch::Tensor& g = gradients[i]; g.defined())
        gradient_.narrow(0, layout_[i].offset, layout_[i].count).add_(g.reshape({-1}));
  }

  void set_window_impl(const Window& window) override { network_.set_window(window); }

  void zero_gradient_impl() override {
    run([&] { gradient_.zero_(); });
  }

  // In double, as a float32 sum of many squares would lose digits and overflow early.
  double gradient_norm_impl() override {
    return run([&] { return gradient_.to(torch::kFloat64).norm().item<double>(); });
  }

  void optimiser_step_impl(const OptimiserStep& step) override {
    run([&] {
      const torch::NoGradGuard guard;
      if (step.weight_decay > 0)
        for (const network::ParameterInfo& info : layout_)
          if (is_decaying(info)) weights_.narrow(0, info.offset, info.count).mul_(step.kept());
      const torch::Tensor gradient = gradient_ * step.gradient_scale;
      if (step.optimiser == Optimiser::muon)
        for (const network::ParameterInfo& info : layout_)
          is_muon_matrix(info) ? muon(step, gradient, info) : adam(step, gradient, info.offset, info.count);
      else
        adam(step, gradient, 0, gradient.size(0));
      ema_.mul_(step.ema).add_(weights_, 1 - step.ema);
    });
  }

  void adam(const OptimiserStep& step, const torch::Tensor& gradient, int64_t offset, int64_t count) {
    const auto part = [&](const torch::Tensor& all) { return all.narrow(0, offset, count); };
    const double correction1 = 1 - std::pow(step.beta1, static_cast<double>(step.step));
    const double correction2 = 1 - std::pow(step.beta2, static_cast<double>(step.step));
    const torch::Tensor g = part(gradient);
    const torch::Tensor m = part(adam_m_).mul_(step.beta1).add_(g, 1 - step.beta1);
    const torch::Tensor v = part(adam_v_).mul_(step.beta2).addcmul_(g, g, 1 - step.beta2);
    part(weights_).addcdiv_(m, (v / correction2).sqrt_().add_(step.epsilon), -step.lr / correction1);
  }

  void muon(const OptimiserStep& step, const torch::Tensor& gradient, const network::ParameterInfo& info) {
    const auto matrix = [&](const torch::Tensor& all) {
      return all.narrow(0, info.offset, info.count).view({info.shape[0], -1});
    };
    const torch::Tensor g = matrix(gradient);
    const torch::Tensor m = matrix(adam_m_).mul_(step.beta1).add_(g, 1 - step.beta1);
    torch::Tensor u = step.beta1 * m + (1 - step.beta1) * g;  // a step ahead, after Nesterov
    const bool tall = u.size(0) > u.size(1);
    if (tall) u = u.t();
    if (const double norm = u.norm().item<double>(); norm > 0) u = u / norm;
    for (int round = 0; round < kNewtonSchulzRounds; ++round) {
      const torch::Tensor a = u.mm(u.t());
      u = kNewtonSchulz[0] * u + (kNewtonSchulz[1] * a + kNewtonSchulz[2] * a.mm(a)).mm(u);
    }
    matrix(weights_).sub_(tall ? u.t() : u, step.lr * muon_scale(g.size(0), g.size(1)));
  }

  void read_impl(StateVector which, std::span<float> out) const override {
    run([&] { to_host(state(which), out); });
  }
  void write_impl(StateVector which, std::span<const float> values) override {
    run([&] {
      const torch::NoGradGuard guard;
      torch::Tensor target = state(which);
      target.copy_(to_device(values, {target.size(0)}));
    });
  }

  torch::Tensor state(StateVector which) const {
    switch (which) {
      case StateVector::weights:
        return weights_;
      case StateVector::ema:
        return ema_;
      case StateVector::adam_m:
        return adam_m_;
      case StateVector::adam_v:
        return adam_v_;
      case StateVector::gradient:
        return gradient_;
    }
    fail("this is a bug in the caller", "no such state vector");
  }

  torch::Device device_;
  Precision precision_;
  int (*threads_)();
  torch::Tensor weights_, ema_, adam_m_, adam_v_, gradient_;  // (parameters)
  TorchNetwork network_;
  std::vector<network::ParameterInfo> layout_;
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) TrainableEnergy* mdsm_make_torch_engine(
    const network::Parameters& parameters, const std::string& device, Precision precision, int (*threads)()) {
  return guarded([&]() -> TrainableEnergy* {
    const torch::Device place = parse_device(device);
    at::globalContext().setDeterministicCuDNN(true);  // the same numbers every time come before speed
    return with_bowl(std::make_unique<TorchEngine>(parameters, place, precision, threads)).release();
  });
}

__attribute__((visibility("default"))) std::string mdsm_torch_version() {
  return guarded([] {
    const int64_t count = cuda_devices();
    const std::string cuda =
        count == 0 ? "" : fmt::format(" and {} CUDA device{}", count, count == 1 ? "" : "s");
    return fmt::format("{}, CPU{}", TORCH_VERSION, cuda);
  });
}
}

}  // namespace mdsm::engine
