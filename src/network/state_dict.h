// PyTorch state dicts (.pt, .pth): the zip container and the older plain pickle. The reader understands only
// the few pickle opcodes and class names such files use, runs nothing, and refuses anything else.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"
#include "network/parameters.h"

namespace mdsm::network {

struct StateTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;  // contiguous, whatever the strides in the file
  bool is_float = true;       // false for counters (int64), whose values are left out
};
using StateDict = std::map<std::string, StateTensor>;

// A checkpoint that holds one such dict under a name ("netE", "state_dict", ...) gives that one.
StateDict read_state_dict(const fs::path& path);
StateDict read_state_dict(std::span<const std::byte> file, const std::string& where);

// A network's bowl (docs/design/bowl.md) is an entry of its own, of one value; without one there is none. The
// authors' programs do not know it; python/mdsm_torch.py does.
constexpr const char* kBowlEntry = "bowl";

// The zip container that torch.load reads.
void write_state_dict(const fs::path& path, const Parameters& parameters);

// What no state dict says: sigma0, and of a unet its head, its activation and the size of images.
struct NotInDict {
  double sigma0 = 0.1;
  Head unet_head = Head::squared_residual;
  Activation unet_activation = Activation::silu;
  int64_t unet_size = 32;
};

struct ImportedParameters {
  Parameters parameters;
  std::vector<std::string> skipped;  // names in the file that the network does not use
};
// Strips "module.", skips counters and the unused bn entries, works out the network from names and shapes,
// and checks that everything fits.
ImportedParameters parameters_from(const StateDict& dict, const NotInDict& more, const std::string& where);

}  // namespace mdsm::network
