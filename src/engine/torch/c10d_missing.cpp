// In place of c10d_communicator.cpp where LibTorch has no Gloo.
#include "core/error.h"
#include "engine/torch_module.h"

namespace mdsm::engine {

extern "C" __attribute__((visibility("default"))) distributed::Communicator* mdsm_join_processes(
    const distributed::Launch& launch, const std::string&) {
  fail("install libgloo-dev and build again",
       "this build cannot join {} processes: its LibTorch module has no Gloo", launch.size);
}

}  // namespace mdsm::engine
