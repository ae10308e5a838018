// The network as data: which blocks of which size, and the named parameters they need. Nothing here computes.
// Names are those of the authors' state dicts, so that files go both ways.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/tensor.h"

namespace mdsm::network {

enum class Network { res6, res12, res18, res34, unet };
constexpr auto enum_names(Network) {
  return names_of<Network>({{Network::res6, "res6"},
                            {Network::res12, "res12"},
                            {Network::res18, "res18"},
                            {Network::res34, "res34"},
                            {Network::unet, "unet"}});
}
// Of the paper's networks the first two, of unet the others (docs/design/unet.md). The last two have no
// energy: the network of a denoiser is the denoised image itself, that of a residual denoiser the noise.
enum class Head {
  quadratic,
  linear,
  squared_residual,
  inner_product,
  predicted_noise,
  denoiser,
  residual_denoiser
};
constexpr auto enum_names(Head) {
  return names_of<Head>({{Head::quadratic, "quadratic"},
                         {Head::linear, "linear"},
                         {Head::squared_residual, "squared-residual"},
                         {Head::inner_product, "inner-product"},
                         {Head::predicted_noise, "predicted-noise"},
                         {Head::denoiser, "denoiser"},
                         {Head::residual_denoiser, "residual-denoiser"}});
}
// True where the head works on a map of the image's own shape, with y = x - 1/2 in place of x: such energies
// are sums over pixels and take images of any size.
constexpr bool is_image_head(Head head) { return head != Head::quadratic && head != Head::linear; }
// False where the network only denoises: sigma0² grad_x is the image minus the denoised one, the gradient of
// nothing, and engines give 0 for every energy.
constexpr bool has_energy(Head head) { return head != Head::denoiser && head != Head::residual_denoiser; }
// Whether the network as a denoiser gives the noise, to be taken from the image, in place of the image.
constexpr bool is_noise(Head head) {
  return head == Head::predicted_noise || head == Head::residual_denoiser;
}
enum class Activation { elu, silu };
constexpr auto enum_names(Activation) {
  return names_of<Activation>({{Activation::elu, "elu"}, {Activation::silu, "silu"}});
}

struct Spec {
  Network network = Network::res12;
  int64_t width = 64;    // channels after the first convolution; a multiple of 4
  int64_t channels = 1;  // of the image
  int64_t size = 32;     // pixels along each side; of the paper's networks a multiple of 8 (16 for res34)
  Head head = Head::quadratic;
  double sigma0 = 0.1;  // width of the Gaussian kernel that smooths the data; grad_x is scaled to it
  double bowl = 0;      // E(x) = network(x) + bowl ‖x‖² / (2 sigma0²); 0 in the paper, and for unet
  // unet: how often images are halved, plus 1; residual blocks a level each way; what stands between
  // convolutions.
  int64_t levels = 4, blocks = 1;
  Activation activation = Activation::silu;
  // unet: images of another shape than size x size; 0 = size.
  int64_t rows = 0, columns = 0;

  bool any_size() const { return is_image_head(head); }
  Shape input(int64_t n) const { return {n, channels, rows > 0 ? rows : size, columns > 0 ? columns : size}; }
  bool operator==(const Spec&) const = default;
};

struct ParameterInfo {
  std::string name;            // "rb1.conv_1.conv.weight"
  std::vector<int64_t> shape;  // as in PyTorch: (out, in, k, k), (out), (1, features)
  int64_t offset = 0;          // first value in the flat buffer
  int64_t count = 0;
  int64_t fan_in = 0;  // of the layer the parameter belongs to, for initialisation
  bool zero = false;   // starts at zero
  bool operator==(const ParameterInfo&) const = default;
};

// Names of the blocks of the paper's networks, in order; "rbc" ones keep the size, the others halve it.
const std::vector<std::string>& paper_blocks(Network network);

void validate(const Spec& spec);  // throws a usage error with the offending value

std::vector<ParameterInfo> parameter_layout(const Spec& spec);
int64_t parameter_count(const Spec& spec);

// Multiply-adds of one energy evaluation of one image, with mean pooling folded into the convolutions.
int64_t multiply_adds(const Spec& spec);

nlohmann::json to_json(const Spec& spec);
Spec spec_from_json(const nlohmann::json& values, const std::string& where);

}  // namespace mdsm::network
