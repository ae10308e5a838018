// MNIST's file format, for the sources that are made of it.
#pragma once

#include "data/source.h"

namespace mdsm::data {

// A file, plain or gzip, or a folder with train-images-idx3-ubyte and its like.
RawImages read_idx(const SourceRequest& request);
RawImages read_idx_unfitted(const SourceRequest& request);  // for sources made from others
// Whether a folder holds them.
bool is_idx_folder(const fs::path& folder);

// 0 .. 9 as names.
std::vector<std::string> digit_names();

}  // namespace mdsm::data
