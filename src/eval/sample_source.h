// Samples given by path: a folder that `mdsm sample` has written, an .npy file, or any other source of
// images.
#pragma once

#include <memory>
#include <string>

#include "data/dataset.h"

namespace mdsm {

std::unique_ptr<Dataset> open_samples(const std::string& path, int64_t limit = 0);

}  // namespace mdsm
