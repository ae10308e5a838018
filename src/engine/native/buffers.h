// Where every intermediate value of a pass lives. One arena serves all plans of an engine, as only one runs
// at a time; this file decides what is kept, what shares memory, and how much is needed.
//
// Names follow docs/notation.md: h is a block's input, a = ELU(h), b = ELU(conv_1(a)), s what the shortcut
// reads (h or its 2x2 mean); delta is dE/d(.), a dot the derivative along v, gamma = dEdot/d(.).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/native/layout.h"

namespace mdsm::engine::native {

// parameters: dE/dtheta, which is forward, backward and one weight gradient a layer.
enum class Mode { energy, gradient, training, parameters };

// Maps that enter a weight gradient, in units of n.
inline int64_t gradient_terms(Mode mode) {
  return mode == Mode::training ? 2 : mode == Mode::parameters ? 1 : 0;
}

// In training, tensors that enter weight gradients are pairs of 2n maps: (a, adot), (b, bdot), (s, sdot) and
// (gamma, delta); each weight gradient is then one call on a doubled batch. The pointers name the halves.
struct BlockBuffers {
  float *a = nullptr, *b = nullptr, *h = nullptr, *s = nullptr;  // s == h where the block does not pool
  float *adot = nullptr, *bdot = nullptr, *hdot = nullptr, *sdot = nullptr;
  // delta_a and delta_b, the raw results of the backward convolutions, are kept in training only.
  float *delta_b = nullptr, *delta_u = nullptr, *delta_a = nullptr, *delta_h = nullptr;
  float *gamma_u = nullptr, *gamma_h = nullptr;
};

struct Buffers {
  std::vector<BlockBuffers> block;
  float *last_h = nullptr, *last_hdot = nullptr;       // the head's input
  float *last_delta = nullptr, *last_gamma = nullptr;  // dE, dEdot by the head's input
  float* shortcut = nullptr;                           // what comes back through a shortcut
  float* x = nullptr;        // (n,C,H+2,W+2) plain, with a border of zeros: the images
  float* v = nullptr;        // the same for the tangent direction, training only
  float* grad_x = nullptr;   // (n,C,H,W) plain, training only
  float* scratch = nullptr;  // of the convolutions
  int64_t count = 0;         // floats needed
};

// Lays the buffers out from `base`, with `scratch` floats for the convolutions; with a null base only count
// is meaningful.
Buffers lay_out(const network::Spec& spec, Layout layout, Mode mode, int64_t n, int64_t scratch, float* base);

}  // namespace mdsm::engine::native
