// A fingerprint of all pixels of a data set, to notice when a run is gone on with on other images.
#pragma once

#include <string>

#include "data/dataset.h"

namespace mdsm::data {

// Reads every image once.
std::string fingerprint(const Dataset& images);

}  // namespace mdsm::data
