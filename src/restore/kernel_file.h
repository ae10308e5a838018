// A blur as people write it.
#pragma once

#include <string>

#include "restore/measurement.h"

namespace mdsm::restore {

// "box:PIXELS", "gaussian:SIGMA", or a file: .npy of two dimensions, or a grey image whose values become
// weights; those of files are divided by their sum. `option` is for messages.
Kernel read_kernel(const std::string& text, const std::string& option);

}  // namespace mdsm::restore
