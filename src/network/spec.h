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

enum class Network { res6, res12, res18, res34 };
constexpr auto enum_names(Network) {
  return names_of<Network>({{Network::res6, "res6"},
                            {Network::res12, "res12"},
                            {Network::res18, "res18"},
                            {Network::res34, "res34"}});
}
enum class Head { quadratic, linear };
constexpr auto enum_names(Head) {
  return names_of<Head>({{Head::quadratic, "quadratic"}, {Head::linear, "linear"}});
}

struct Spec {
  Network network = Network::res12;
  int64_t width = 64;    // channels after the first convolution; a multiple of 4
  int64_t channels = 1;  // of the image
  int64_t size = 32;     // pixels along each side; a multiple of 8 (16 for res34)
  Head head = Head::quadratic;
  double sigma0 = 0.1;  // width of the Gaussian kernel that smooths the data; grad_x is scaled to it
  double bowl = 0;      // E(x) = network(x) + bowl ‖x‖² / (2 sigma0²); 0 in the paper

  Shape input(int64_t n) const { return {n, channels, size, size}; }
  bool operator==(const Spec&) const = default;
};

// h -> ELU -> conv_1 (3x3, keeps channels) -> ELU -> conv_2 (3x3) [-> 2x2 mean], plus [2x2 mean ->] 1x1
// shortcut.
struct Block {
  std::string name;  // "rb1", "rbc1", ...
  int64_t in = 0, out = 0;
  int64_t size = 0;  // pixels along each side of its input
  bool down = false;

  int64_t out_size() const { return down ? size / 2 : size; }
};

struct ParameterInfo {
  std::string name;            // "rb1.conv_1.conv.weight"
  std::vector<int64_t> shape;  // as in PyTorch: (out, in, k, k), (out), (1, features)
  int64_t offset = 0;          // first value in the flat buffer
  int64_t count = 0;
  int64_t fan_in = 0;  // of the layer the parameter belongs to, for initialisation
};

void validate(const Spec& spec);  // throws a usage error with the offending value

std::vector<Block> blocks(const Spec& spec);
int64_t features(const Spec& spec);  // inputs of the head: channels x pixels of the last feature map
std::vector<ParameterInfo> parameter_layout(const Spec& spec);
int64_t parameter_count(const Spec& spec);

// Multiply-adds of one energy evaluation of one image, with mean pooling folded into the convolutions.
int64_t multiply_adds(const Spec& spec);

nlohmann::json to_json(const Spec& spec);
Spec spec_from_json(const nlohmann::json& values, const std::string& where);

}  // namespace mdsm::network
