// Where reverse chains begin: the images of a data set in a random order of their own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace mdsm::eval {

class ReverseStarts {
 public:
  ReverseStarts(std::shared_ptr<const data::Dataset> from, uint64_t seed);

  Tensor images(int64_t first, int64_t count) const;  // (count,C,H,W); from the first again after the last
  std::string hash(int64_t count) const;              // of the first so many
  const data::Dataset& from() const { return *from_; }

 private:
  std::shared_ptr<const data::Dataset> from_;
  std::vector<uint32_t> order_;
};

}  // namespace mdsm::eval
