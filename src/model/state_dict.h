// PyTorch state dicts (.pt, .pth): the zip container and the older plain pickle. The reader understands only
// the few pickle opcodes and class names such files use, runs nothing, and refuses anything else.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/files.h"
#include "model/parameters.h"

namespace mdsm {

struct StateTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;  // contiguous, whatever the strides in the file
};
using StateDict = std::map<std::string, StateTensor>;

StateDict read_state_dict(const fs::path& path);
// The zip container that torch.load reads.
void write_state_dict(const fs::path& path, const Parameters& parameters);

// Strips "module.", skips the unused bn entries, works out network, width, channels, size and head from the
// shapes, and checks that everything fits.
Parameters parameters_from(const StateDict& dict, const std::string& where);

}  // namespace mdsm
