// The other side of torch_module.h: finds and opens libmdsm_torch.so beside the running program.
#pragma once

#include "engine/torch_module.h"

namespace mdsm::engine {

// Opens the module (once) and makes an engine; a missing module or LibTorch is a clear error.
std::unique_ptr<TrainableEnergy> make_torch_engine(const network::Parameters& parameters,
                                                   const std::string& device, Precision precision);
// The same for a network in a TorchScript file.
std::unique_ptr<TorchScript> load_torch_script(const std::string& path, const std::string& device);
// Meets the other processes that a launcher has started.
std::unique_ptr<distributed::Communicator> join_processes(const distributed::Launch& launch,
                                                          const std::string& version);
// Opens the module, which takes a noticeable part of a second.
std::string torch_version();
// True when the module file is installed beside the program; does not load it.
bool torch_module_present();

}  // namespace mdsm::engine
