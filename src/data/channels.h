// Every channel of a data set's images as a grey image of its own, for sets that keep unrelated pictures in
// their channels (stacked MNIST): image i, channel c is number i * C + c. Labels belong to whole images and
// are left out.
#pragma once

#include <memory>

#include "data/dataset.h"

namespace mdsm::data {

class Channels : public Dataset {
 public:
  explicit Channels(std::shared_ptr<const Dataset> images)
      : images_(std::move(images)), shape_(images_->image_shape()) {}

  int64_t size() const override { return images_->size() * shape_.c; }
  Shape image_shape() const override { return {1, 1, shape_.h, shape_.w}; }
  void read(int64_t index, std::span<float> out) const override;
  std::optional<Split> part() const override { return images_->part(); }
  bool eight_bit() const override { return images_->eight_bit(); }
  std::string description() const override { return "the channels of " + images_->description(); }

 private:
  std::shared_ptr<const Dataset> images_;
  Shape shape_;
};

}  // namespace mdsm::data
