// Images in memory as a data set: samples that were just drawn.
#pragma once

#include <algorithm>

#include "data/dataset.h"

namespace mdsm::eval {

class TensorImages : public data::Dataset {
 public:
  TensorImages(Tensor x, std::string description) : x_(std::move(x)), description_(std::move(description)) {}
  int64_t size() const override { return x_.shape().n; }
  Shape image_shape() const override { return x_.shape().with_n(1); }
  void read(int64_t index, std::span<float> out) const override {
    std::ranges::copy(x_.view().image(index), out.begin());
  }
  std::string description() const override { return description_; }

 private:
  Tensor x_;
  std::string description_;
};

}  // namespace mdsm::eval
