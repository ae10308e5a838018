// The list of layers cut into steps that run as one kernel each: a convolution takes with it the 2x2 mean
// behind it, the sum it is part of, and the activation that follows. What is recognised here changes speed
// and memory, never the result beyond rounding.
#pragma once

#include <vector>

#include "engine/native/upsampling.h"
#include "network/graph.h"

namespace mdsm::engine::native {

struct Step {
  enum class Kind { input_convolution, convolution, pool, upsample, add, concatenate, activate };
  Kind kind = Kind::convolution;
  int layer = -1;             // of the graph: the convolution, or the layer itself
  std::vector<int> from{};    // values that it reads
  int to = -1;                // the value it makes; of an activation, none (second)
  bool pooled = false;        // convolutions: with the 2x2 mean behind it
  ConvolutionPart part{};     // convolutions: of their weights
  int plus = -1;              // convolutions: a value added to the result
  std::vector<int> biases{};  // convolutions whose biases are added to the result
  int second = -1;            // value of the activation of `to`
  bool only_second = false;   // nobody else reads `to`, and an ELU needs only its output later
};

struct Fusion {
  network::Graph given;                     // which the parameters belong to
  network::Graph graph;                     // the same rewritten, which the steps and their values belong to
  std::vector<std::vector<int>> consumers;  // layers that read each value
  std::vector<Step> steps;                  // in the order they run

  bool is_silu(int activation_value) const {
    return graph.maker(activation_value).kind == network::LayerKind::silu;
  }
  // The value that an activation reads.
  int argument(int activation_value) const { return graph.maker(activation_value).inputs[0]; }
};

Fusion fuse(network::Graph graph);

}  // namespace mdsm::engine::native
