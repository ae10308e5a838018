// A folder of images that stay on the disk: each is read, decoded and fitted when it is asked for, so that a
// set may be larger than the memory.
#pragma once

#include <memory>

#include "data/source.h"

namespace mdsm::data {

// Always, for the source "stream".
std::unique_ptr<Dataset> open_streamed(const SourceRequest& request);
// Where the images would not fit the memory; none where they do.
std::unique_ptr<Dataset> open_streamed_if_large(const SourceRequest& request);

}  // namespace mdsm::data
