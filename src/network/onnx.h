// A model as an ONNX file: x (N,C,H,W) in, `energy` (N) and `denoised` (N,C,H,W) out. The denoiser is one
// jump down the energy, x - sigma0² dE/dx; its gradient is written out as ordinary operators, so that any
// runtime can compute it. A head without an energy has `denoised` alone. Batches of any size; images of any
// size where the network takes them.
#pragma once

#include "core/files.h"
#include "network/parameters.h"

namespace mdsm::network {

void write_onnx(const fs::path& path, const Parameters& parameters, const std::string& program_version);

}  // namespace mdsm::network
