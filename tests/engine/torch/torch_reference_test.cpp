// The double-precision reference against LibTorch's autograd with create_graph in float64: two ways to the
// same numbers that share no formula.
#include <gtest/gtest.h>

#include "engine/reference.h"
#include "engine/support.h"
#include "engine/torch/torch_network.h"

namespace mdsm::test {
namespace {

using Case = std::tuple<network::Network, network::Head, int64_t>;

torch::Tensor to_double(ConstTensorView x) {
  return torch::from_blob(const_cast<float*>(x.data), {x.shape.n, x.shape.c, x.shape.h, x.shape.w})
      .to(torch::kFloat64);
}

std::span<const double> values(const torch::Tensor& t) {
  return {t.data_ptr<double>(), static_cast<size_t>(t.numel())};
}

class TorchReferenceTest : public testing::TestWithParam<Case> {};

TEST_P(TorchReferenceTest, EveryParameterAgreesInDoublePrecision) {
  constexpr int64_t kImages = 2;
  const auto [network, head, channels] = GetParam();
  network::Spec spec = small_spec(network, head, channels);
  spec.size = 16;
  const network::Parameters parameters = lively_parameters(spec, 11);
  const Batch batch(spec, kImages);

  const auto flat = std::span(parameters.values());
  const torch::Tensor weights =
      torch::from_blob(const_cast<float*>(flat.data()), {static_cast<int64_t>(flat.size())})
          .to(torch::kFloat64);
  const engine::TorchNetwork net(spec, weights);
  const torch::Tensor weight =
      torch::from_blob(const_cast<float*>(batch.weight.data()), {kImages}).to(torch::kFloat64);
  const torch::Tensor noisy = to_double(batch.noisy).requires_grad_(true);
  const torch::Tensor grad_x =
      (network::has_energy(head) ? engine::TorchNetwork::input_gradient(net.energy(noisy), noisy, false)
                                 : net.denoiser_gradient(noisy).detach())
          .contiguous();
  const auto torch_result = net.objective(to_double(batch.x), noisy.detach(), weight);

  const Reference reference(spec, parameters.values());
  Vector gradient(flat.size(), 0.0), energy, residual, slope;
  for (int64_t i = 0; i < kImages; ++i) {
    const Map image = map_of(batch.noisy, i);
    const Objective o = reference.objective(
        map_of(batch.x, i), image, static_cast<double>(batch.weight[static_cast<size_t>(i)]), gradient);
    energy.push_back(o.energy);
    residual.push_back(o.residual);
    const Map g = reference.grad_x(image);
    slope.insert(slope.end(), g.v.begin(), g.v.end());
  }
  EXPECT_LT(relative_error(values(torch_result.energy), energy), 1e-12);
  EXPECT_LT(relative_error(values(torch_result.residual), residual), 1e-12);
  EXPECT_LT(relative_error(values(grad_x), slope), 1e-12);
  for (size_t i = 0; i < reference.layout().size(); ++i) {
    const network::ParameterInfo& info = reference.layout()[i];
    const auto expected = part(std::span(gradient), info);
    if (!torch_result.gradients[i].defined())  // the last bias, which grad_x does not depend on
      EXPECT_EQ(norm(expected), 0) << info.name;
    else
      EXPECT_LT(relative_error(values(torch_result.gradients[i].contiguous()), expected), 1e-9) << info.name;
  }
}

TEST_P(TorchReferenceTest, AutocastRoundsTheLayersAndNoMore) {
  const auto [network, head, channels] = GetParam();
  network::Spec spec = small_spec(network, head, channels);
  spec.size = 16;
  const network::Parameters parameters = lively_parameters(spec, 11);
  const Batch batch(spec, 2);
  const auto flat = std::span(parameters.values());
  const torch::Tensor weights =
      torch::from_blob(const_cast<float*>(flat.data()), {static_cast<int64_t>(flat.size())}).clone();
  const torch::Tensor weight = torch::from_blob(const_cast<float*>(batch.weight.data()), {2});
  const auto gradient = [&](bool autocast) {
    const engine::TorchNetwork net(spec, weights, autocast);
    const auto result = net.objective(to_double(batch.x).to(torch::kFloat32),
                                      to_double(batch.noisy).to(torch::kFloat32), weight);
    EXPECT_EQ(result.residual.scalar_type(), torch::kFloat32);
    std::vector<torch::Tensor> all;
    for (const torch::Tensor& one : result.gradients)
      if (one.defined()) all.push_back(one.reshape({-1}).to(torch::kFloat64));
    return torch::cat(all);
  };
  const torch::Tensor exact = gradient(false), rounded = gradient(true);
  const double error = relative_error(values(rounded), values(exact));
  EXPECT_GT(error, 1e-5);
  EXPECT_LT(error, 0.2);
  weights.mul_(1.1f);  // a rounded copy of weights must not be kept
  EXPECT_GT(relative_error(values(gradient(true)), values(rounded)), 0.05);
}

INSTANTIATE_TEST_SUITE_P(Networks, TorchReferenceTest,
                         testing::Combine(testing::Values(network::Network::res6, network::Network::res12,
                                                          network::Network::res18, network::Network::res34),
                                          testing::Values(network::Head::quadratic, network::Head::linear),
                                          testing::Values(int64_t{1}, int64_t{3})),
                         [](const auto& made) {
                           return std::string(to_string(std::get<0>(made.param))) + "_" +
                                  to_string(std::get<1>(made.param)) + "_" +
                                  std::to_string(std::get<2>(made.param)) + "ch";
                         });
INSTANTIATE_TEST_SUITE_P(
    Unet, TorchReferenceTest,
    testing::Combine(testing::Values(network::Network::unet),
                     testing::Values(network::Head::squared_residual, network::Head::inner_product,
                                     network::Head::predicted_noise, network::Head::denoiser,
                                     network::Head::residual_denoiser),
                     testing::Values(int64_t{1}, int64_t{3})));

}  // namespace
}  // namespace mdsm::test
