// The images of a data set that one of several processes computes, and what all of them have found.
#pragma once

#include <vector>

#include "data/subset.h"
#include "distributed/communicator.h"

namespace mdsm::eval {

struct Share {
  int64_t first = 0;  // number of its first image in the whole
  data::Subset images;
};
// Whole groups of so many images, but for the last one of the data. `data` must outlive it.
Share share_of(const distributed::Communicator& world, const data::Dataset& data, int64_t group = 1);

// The lists of all ranks one after the other, on rank 0; nothing on others. total: how many values rank 0
// expects.
std::vector<float> gathered(distributed::Communicator& world, const std::vector<float>& own, int64_t total);
std::vector<double> gathered(distributed::Communicator& world, const std::vector<double>& own, int64_t total);

}  // namespace mdsm::eval
