// Image files in folders.
#pragma once

#include <vector>

#include "core/files.h"

namespace mdsm::data {

// By the end of its name: PNG or JPEG.
bool is_image_name(const fs::path& file);
// PNG and JPEG files below a folder, in the order of their names, relative to it.
std::vector<fs::path> image_files(const fs::path& root);

}  // namespace mdsm::data
