// A data set as an .npz file as ADM (guided-diffusion) writes its samples and its evaluation reads them:
// arr_0, uint8 of (N,H,W,C), and where the images have labels, arr_1.
#pragma once

#include "core/files.h"
#include "data/dataset.h"

namespace mdsm::data {

// Floats are rounded to 8 bits.
void write_npz(const fs::path& path, const Dataset& images);

}  // namespace mdsm::data
