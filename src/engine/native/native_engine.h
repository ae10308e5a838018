// The CPU engine: oneDNN primitives in channel-blocked layouts and own element-wise kernels, the training
// gradient in six convolution passes (docs/design/second_order.md), no autograd and no graph.
#pragma once

#include <memory>
#include <string>

#include "engine/trainable_energy.h"

namespace mdsm::engine {

// exact: direct convolutions only; otherwise Winograd's where they pay. bfloat16: with maps and weights
// rounded, on matrix units or by AVX-512 BF16; the CPU has to have one, or MDSM_TILES=emulated to emulate.
enum class NativeArithmetic { fast, exact, bfloat16 };
std::unique_ptr<TrainableEnergy> make_native_engine(const network::Parameters& parameters,
                                                    NativeArithmetic arithmetic = NativeArithmetic::fast);

// "oneDNN 2.6.3, own kernels for AVX2".
std::string native_version();

// Working memory is for a call on n images.
MemoryNeed native_memory(const network::Spec& spec, int64_t n,
                         NativeArithmetic arithmetic = NativeArithmetic::fast);

}  // namespace mdsm::engine
