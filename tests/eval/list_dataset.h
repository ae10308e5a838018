// A data set made of a tensor.
#pragma once

#include <algorithm>

#include "data/dataset.h"

namespace mdsm::test {

class ListDataset : public data::Dataset {
 public:
  explicit ListDataset(Tensor images) : images_(std::move(images)) {}
  int64_t size() const override { return images_.shape().n; }
  Shape image_shape() const override { return images_.shape().with_n(1); }
  void read(int64_t index, std::span<float> out) const override {
    std::ranges::copy(image(index), out.begin());
  }
  std::string description() const override { return "a list"; }
  std::span<const float> image(int64_t index) const { return images_.view().image(index); }

 private:
  Tensor images_;
};

}  // namespace mdsm::test
