// The images of a data set with noise on top, the same at every reading: Gaussian, and uniform within one
// grey level (dequantisation). Values may leave [0,1].
#pragma once

#include <memory>

#include "data/dataset.h"

namespace mdsm::eval {

struct ImageNoise {
  double sigma = 0;         // of the Gaussian noise
  bool dequantise = false;  // add u/255, u uniform in [-1/2, 1/2)
  uint64_t seed = 0;        // image i always gets the same noise
};

class NoisyDataset : public data::Dataset {
 public:
  NoisyDataset(std::shared_ptr<const data::Dataset> images, const ImageNoise& noise)
      : images_(std::move(images)), noise_(noise) {}

  int64_t size() const override { return images_->size(); }
  Shape image_shape() const override { return images_->image_shape(); }
  void read(int64_t index, std::span<float> out) const override;
  int label(int64_t index) const override { return images_->label(index); }
  std::vector<std::string> class_names() const override { return images_->class_names(); }
  std::optional<data::Split> part() const override { return images_->part(); }
  int64_t source_index(int64_t index) const override { return images_->source_index(index); }
  std::string description() const override;

 private:
  std::shared_ptr<const data::Dataset> images_;
  ImageNoise noise_;
};

}  // namespace mdsm::eval
