// A network rewritten so that nothing is computed on a map that only repeats pixels. Enlarging every pixel to
// 2x2 commutes with activations and 1x1 convolutions, and a 3x3 convolution of an enlarged map is four 2x2
// ones of the small map, the way back through a convolution with 2x2 means behind it. A convolution of a
// concatenation is the sum of the convolutions of its parts. So in
//
//   convolution(activation(concatenate(upsample(a), b)))
//
// the half that comes from a stays at its small size. Only concatenations that hold an enlarged map are taken
// apart.
#pragma once

#include <vector>

#include "network/graph.h"

namespace mdsm::engine::native {

// What a convolution of the rewritten graph takes of the weights that its name stands for.
struct ConvolutionPart {
  int64_t first = 0;       // of their input channels, as many as its input has
  bool upsampled = false;  // 3x3, after every pixel of its input has become 2x2
};

struct RewrittenGraph {
  network::Graph graph;
  std::vector<ConvolutionPart> parts;  // of each layer
};

RewrittenGraph move_upsampling(const network::Graph& graph);

}  // namespace mdsm::engine::native
