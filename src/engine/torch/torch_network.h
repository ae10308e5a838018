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

#include "network/spec.h"

namespace mdsm::engine {

class TorchNetwork {
 public:
  // flat: (parameters) in parameter_layout() order. The leaves are views on its memory, so a change of flat
  // in place is a change of the network.
  TorchNetwork(const network::Spec& spec, const torch::Tensor& flat)
      : spec_(spec), blocks_(network::blocks(spec)) {
    for (const network::ParameterInfo& info : network::parameter_layout(spec)) {
      leaves_.push_back(
          flat.narrow(0, info.offset, info.count).view(info.shape).detach().requires_grad_(true));
      by_name_[info.name] = leaves_.back();
    }
  }

  // x: (N,C,H,W), gives (N)
  torch::Tensor energy(const torch::Tensor& x) const {
    torch::Tensor h = convolution(x, "conv1.conv", true);
    for (const network::Block& block : blocks_) h = residual_block(h, block);
    return head(h.flatten(1));
  }

  // grad_x: (N,C,H,W) = dE/dx of every image. x must require a gradient. With create_graph the result can be
  // differentiated by the parameters.
  static torch::Tensor input_gradient(const torch::Tensor& energy, const torch::Tensor& x,
                                      bool create_graph) {
    return torch::autograd::grad({energy.sum()}, {x}, {}, create_graph, create_graph)[0];
  }

  struct Objective {
    torch::Tensor residual, energy;        // (N); the residual is that of the denoising objective alone
    std::vector<torch::Tensor> gradients;  // by leaf; undefined where the objective does not depend on it
  };

  // sum_n weight_n ‖x_n - noisy_n + sigma0² grad_x(noisy_n)‖² and its derivative by every parameter.
  Objective objective(const torch::Tensor& x, const torch::Tensor& noisy, const torch::Tensor& weight) const {
    const torch::Tensor input = noisy.detach().requires_grad_(true);
    const torch::Tensor e = energy(input);
    const torch::Tensor grad_x = input_gradient(e, input, true);
    const torch::Tensor residual = (x - noisy + spec_.sigma0 * spec_.sigma0 * grad_x).square().sum({1, 2, 3});
    auto gradients =
        torch::autograd::grad({(weight * residual).sum()}, leaves_, {}, c10::nullopt, false, true);
    return {residual.detach(), e.detach(), std::move(gradients)};
  }

  // sum_n weight_n E(x_n) and its derivative by every parameter.
  Objective weighted_energy(const torch::Tensor& x, const torch::Tensor& weight) const {
    const torch::Tensor e = energy(x);
    auto gradients = torch::autograd::grad({(weight * e).sum()}, leaves_, {}, c10::nullopt, false, true);
    return {torch::Tensor(), e.detach(), std::move(gradients)};
  }

 private:
  const torch::Tensor& at(const std::string& name) const { return by_name_.at(name); }

  torch::Tensor convolution(const torch::Tensor& x, const std::string& name, bool bias) const {
    const torch::Tensor& weight = at(name + ".weight");
    const int64_t padding = weight.size(2) / 2;
    return torch::conv2d(x, weight, bias ? at(name + ".bias") : torch::Tensor(), 1, padding);
  }

  torch::Tensor residual_block(const torch::Tensor& h, const network::Block& block) const {
    const std::string inner = block.down ? ".conv.conv" : ".conv";
    const torch::Tensor u = convolution(torch::elu(h), block.name + ".conv_1.conv", false);
    const torch::Tensor out = convolution(torch::elu(u), block.name + ".conv_2" + inner, true);
    const std::string shortcut = block.name + ".conv_shortcut" + inner;
    if (!block.down) return convolution(h, shortcut, true) + out;
    return convolution(torch::avg_pool2d(h, 2), shortcut, true) + torch::avg_pool2d(out, 2);
  }

  torch::Tensor linear(const torch::Tensor& h, const std::string& name) const {
    return torch::linear(h, at(name + ".weight"), at(name + ".bias")).squeeze(1);
  }

  torch::Tensor head(const torch::Tensor& h) const {
    if (spec_.head == network::Head::linear) return linear(torch::elu(h), "ln");
    return linear(h, "ln1") * linear(h, "ln2") + linear(h * h, "lq");
  }

  network::Spec spec_;
  std::vector<network::Block> blocks_;
  std::vector<torch::Tensor> leaves_;
  std::unordered_map<std::string, torch::Tensor> by_name_;
};

}  // namespace mdsm::engine
