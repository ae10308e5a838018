// The network and the training objective in plain LibTorch operations, in whatever type and on whatever
// device the flat parameter vector has. Gradients come from autograd with create_graph, nothing is derived by
// hand: this is what the native engine is measured against. Buffers, Adam and the border to the program are
// torch_engine.cpp's.
#pragma once

#include <torch/autograd.h>
#include <torch/types.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/torch/torch_autocast.h"
#include "engine/trainable_energy.h"
#include "network/graph.h"

namespace mdsm::engine {

class TorchNetwork {
 public:
  // flat: (parameters) in parameter_layout() order. The leaves are views on its memory, so a change of flat
  // in place is a change of the network.
  TorchNetwork(const network::Spec& spec, const torch::Tensor& flat, bool autocast = false)
      : spec_(spec),
        graph_(network::make_graph(spec)),
        autocast_(autocast),
        window_{0, 0, spec.input(1).h, spec.input(1).w} {
    for (const network::ParameterInfo& info : network::parameter_layout(spec)) {
      leaves_.push_back(
          flat.narrow(0, info.offset, info.count).view(info.shape).detach().requires_grad_(true));
      by_name_[info.name] = leaves_.back();
    }
  }

  void set_window(const Window& window) { window_ = window; }

  // x: (N,C,H,W), gives (N)
  torch::Tensor energy(const torch::Tensor& x) const {
    if (!network::is_image_head(spec_.head)) return head(walk(x).flatten(1));
    if (!network::has_energy(spec_.head)) return torch::zeros({x.size(0)}, x.options());
    const torch::Tensor y = x - 0.5;
    return image_energy(y, image_result(y));
  }

  // grad_x: (N,C,H,W) = dE/dx of every image. x must require a gradient. With create_graph the result can be
  // differentiated by the parameters.
  static torch::Tensor input_gradient(const torch::Tensor& energy, const torch::Tensor& x,
                                      bool create_graph) {
    return torch::autograd::grad({energy.sum()}, {x}, {}, create_graph, create_graph)[0];
  }

  // The same of a denoiser, which is the gradient of nothing.
  torch::Tensor denoiser_gradient(const torch::Tensor& x) const {
    const torch::Tensor f = image_result(x - 0.5);
    const torch::Tensor g = (network::is_noise(spec_.head) ? f : x - 0.5 - f) / (spec_.sigma0 * spec_.sigma0);
    const auto& [top, left, height, width] = window_;
    return torch::constant_pad_nd(g.narrow(2, top, height).narrow(3, left, width),
                                  {left, x.size(3) - left - width, top, x.size(2) - top - height});
  }

  struct Objective {
    torch::Tensor residual, energy;        // (N); the residual is that of the denoising objective alone
    std::vector<torch::Tensor> gradients;  // by leaf; undefined where the objective does not depend on it
  };

  // sum_n weight_n ‖x_n - noisy_n + sigma0² grad_x(noisy_n)‖² and its derivative by every parameter.
  Objective objective(const torch::Tensor& x, const torch::Tensor& noisy, const torch::Tensor& weight) const {
    const torch::Tensor input = noisy.detach().requires_grad_(true);
    const torch::Tensor e = energy(input);
    const torch::Tensor grad_x =
        network::has_energy(spec_.head) ? input_gradient(e, input, true) : denoiser_gradient(input);
    const torch::Tensor residual = (x - noisy + spec_.sigma0 * spec_.sigma0 * grad_x).square().sum({1, 2, 3});
    return {residual.detach(), e.detach(), gradients_of((weight * residual).sum())};
  }

  // sum_n weight_n ‖x_n - D(noisy_n)‖², D = 1/2 + F or noisy - F, and its derivative by every parameter.
  Objective denoising(const torch::Tensor& x, const torch::Tensor& noisy, const torch::Tensor& weight) const {
    const torch::Tensor y = noisy - 0.5, f = image_result(y);
    const torch::Tensor denoised = network::is_noise(spec_.head) ? noisy - f : f + 0.5;
    const torch::Tensor residual = (x - denoised).square().sum({1, 2, 3});
    const torch::Tensor e =
        network::has_energy(spec_.head) ? image_energy(y, f).detach() : torch::zeros_like(residual);
    return {residual.detach(), e, gradients_of((weight * residual).sum())};
  }

  // sum_n weight_n E(x_n) and its derivative by every parameter.
  Objective weighted_energy(const torch::Tensor& x, const torch::Tensor& weight) const {
    const torch::Tensor e = energy(x);
    return {torch::Tensor(), e.detach(), gradients_of((weight * e).sum())};
  }

 private:
  torch::Tensor image_energy(const torch::Tensor& y, const torch::Tensor& f) const {
    const torch::Tensor e = spec_.head == network::Head::squared_residual  ? (y - f).square()
                            : spec_.head == network::Head::predicted_noise ? f.square()
                                                                           : y * (y - f);
    const auto& [top, left, height, width] = window_;
    return e.narrow(2, top, height).narrow(3, left, width).sum({1, 2, 3}) / (2 * spec_.sigma0 * spec_.sigma0);
  }

  std::vector<torch::Tensor> gradients_of(const torch::Tensor& sum) const {
    return torch::autograd::grad({sum}, leaves_, {}, c10::nullopt, false, true);
  }

  const torch::Tensor& at(const std::string& name) const { return by_name_.at(name); }

  // F(y) of a head that compares it with the image.
  torch::Tensor image_result(const torch::Tensor& y) const {
    return walk(filled_up(y)).narrow(2, 0, y.size(2)).narrow(3, 0, y.size(3));
  }

  // The last value of the list of layers. Heads compute in the type of the image again.
  torch::Tensor walk(const torch::Tensor& image) const {
    const Autocast autocast(image.device().type(), autocast_);
    std::vector<torch::Tensor> values = {image};
    for (const network::Layer& layer : graph_.layers) values.push_back(result(layer, values));
    return values.back().to(image.scalar_type());
  }

  torch::Tensor result(const network::Layer& layer, const std::vector<torch::Tensor>& values) const {
    const torch::Tensor& x = values[static_cast<size_t>(layer.inputs[0])];
    switch (layer.kind) {
      case network::LayerKind::convolution:
        return torch::conv2d(x, at(layer.name + ".weight"),
                             layer.bias ? at(layer.name + ".bias") : torch::Tensor(), 1, layer.kernel / 2);
      case network::LayerKind::elu:
        return torch::elu(x);
      case network::LayerKind::silu:
        return torch::silu(x);
      case network::LayerKind::pool:
        return torch::avg_pool2d(x, 2);
      case network::LayerKind::upsample:
        return torch::repeat_interleave(torch::repeat_interleave(x, 2, 2), 2, 3);
      case network::LayerKind::add:
        return x + values[static_cast<size_t>(layer.inputs[1])];
      case network::LayerKind::concatenate:
        return torch::cat({x, values[static_cast<size_t>(layer.inputs[1])]}, 1);
    }
    return {};
  }

  // Zeros to the right and below, up to a size that can be halved as often as the network does.
  torch::Tensor filled_up(const torch::Tensor& y) const {
    const int64_t step = int64_t{1} << graph_.halvings();
    const auto more = [&](int64_t size) { return (step - size % step) % step; };
    return torch::constant_pad_nd(y, {0, more(y.size(3)), 0, more(y.size(2))});
  }

  torch::Tensor linear(const torch::Tensor& h, const std::string& name) const {
    return torch::linear(h, at(name + ".weight"), at(name + ".bias")).squeeze(1);
  }

  torch::Tensor head(const torch::Tensor& h) const {
    if (spec_.head == network::Head::linear) return linear(torch::elu(h), "ln");
    return linear(h, "ln1") * linear(h, "ln2") + linear(h * h, "lq");
  }

  network::Spec spec_;
  network::Graph graph_;
  bool autocast_;  // the layers in bfloat16
  Window window_;  // pixels that count, of an image head
  std::vector<torch::Tensor> leaves_;
  std::unordered_map<std::string, torch::Tensor> by_name_;
};

}  // namespace mdsm::engine
