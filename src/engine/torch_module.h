// The border between the program and libmdsm_torch.so, the only part linked with LibTorch. The program opens
// the module with dlopen when the torch or check engine or several processes are asked for and calls these
// functions by name.
//
// The module carries its own hidden copy of the few parts it needs, so it works under any
// host program; state that must not exist twice (the number of threads) is handed over. Error crosses the
// border as itself: libstdc++ compares exception types by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/communicator.h"
#include "distributed/launcher.h"
#include "engine/precision.h"
#include "engine/trainable_energy.h"

namespace mdsm::engine {

constexpr const char* kTorchModuleFile = "libmdsm_torch.so";

// A network in a TorchScript file that turns images into features: see docs/evaluation.md for the ways it may
// be called.
class TorchScript {
 public:
  struct Output {
    int64_t dimensions = 0, classes = 0;         // classes = 0 where the network gives no probabilities
    std::vector<float> features, probabilities;  // (N x dimensions), (N x classes)
  };
  virtual ~TorchScript() = default;
  // pixels: (N,C,H,W) bytes.
  virtual Output run(const std::vector<uint8_t>& pixels, const Shape& shape) = 0;
  virtual std::string convention() const = 0;  // how it is called, in one line
};

extern "C" {
// mdsm_make_torch_engine: a new engine (owned by the caller) on "cpu", "cuda" or "cuda:K"; `threads` is asked
// before every computation. Throws Error when the device is not there.
using MakeTorchEngine = TrainableEnergy*(const network::Parameters& parameters, const std::string& device,
                                         Precision precision, int (*threads)());
// mdsm_torch_version: "1.13.1, CPU" or "2.4.0, CPU and 2 CUDA devices"
using TorchVersion = std::string();
// mdsm_load_torch_script: the network of the file (owned by the caller) on a device, as above.
using LoadTorchScript = TorchScript*(const std::string& path, const std::string& device, int (*threads)());
// mdsm_join_processes: meets the other processes of a launcher (owned by the caller); `version` is that of
// the program.
using JoinProcesses = distributed::Communicator*(const distributed::Launch& launch,
                                                 const std::string& version);
}

}  // namespace mdsm::engine
