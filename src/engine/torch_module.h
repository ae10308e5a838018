// The border between the program and libmdsm_torch.so, the only part linked with LibTorch. The program opens
// the module with dlopen when the torch or check engine is asked for and calls these functions by name.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace mdsm {

constexpr const char* kTorchModuleFile = "libmdsm_torch.so";

extern "C" {
// New engine (owned by the caller) on "cpu", "cuda" or "cuda:K". Throws Error when the device is not there.
using MakeTorchEngine = Engine*(const Parameters& parameters, const std::string& device);
// "1.13.1, CPU" or "2.4.0, CPU and 2 CUDA devices"
using TorchVersion = std::string();
}

// Opens the module (once) and makes an engine; a missing module or LibTorch is a clear error.
std::unique_ptr<Engine> make_torch_engine(const Parameters& parameters, const std::string& device);
// True when the module file is installed beside the program; does not load it.
bool torch_module_present();

}  // namespace mdsm
