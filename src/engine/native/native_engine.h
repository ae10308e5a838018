// The CPU engine: oneDNN primitives in channel-blocked layouts and own element-wise kernels, the training
// gradient in six convolution passes (docs/design/second_order.md), no autograd and no graph.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace mdsm {

// exact: direct convolutions only; otherwise Winograd's where they pay.
std::unique_ptr<Engine> make_native_engine(const Parameters& parameters, bool exact = false);

// "oneDNN 2.6.3, AVX2": for --version.
std::string native_engine_version();

// Bytes of working memory a call on n images needs beside the parameters.
struct NativeMemory {
  size_t parameters = 0;  // weights, optimiser state, reordered copies
  size_t energy = 0, gradient = 0, training = 0;
};
NativeMemory native_memory(const Spec& spec, int64_t n);

}  // namespace mdsm
