// Some images of a data set, in an order of their own.
#pragma once

#include <memory>

#include "data/dataset.h"

namespace mdsm::data {

class Subset : public Dataset {
 public:
  // indices: into `whole`. `note` goes before the description of the whole.
  Subset(std::shared_ptr<const Dataset> whole, std::vector<uint32_t> indices, std::string note);

  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  Shape image_shape() const override { return whole_->image_shape(); }
  void read(int64_t index, std::span<float> out) const override { whole_->read(inner(index), out); }
  int label(int64_t index) const override { return whole_->label(inner(index)); }
  std::vector<std::string> class_names() const override { return whole_->class_names(); }
  std::optional<Split> part() const override { return whole_->part(); }
  int64_t source_index(int64_t index) const override { return whole_->source_index(inner(index)); }
  bool eight_bit() const override { return whole_->eight_bit(); }
  std::string description() const override { return note_ + whole_->description(); }

 private:
  int64_t inner(int64_t index) const;

  std::shared_ptr<const Dataset> whole_;
  std::vector<uint32_t> indices_;
  std::string note_;
};

// `count` of the images, drawn without replacement; the same seed draws the same ones.
Subset random_subset(std::shared_ptr<const Dataset> whole, int64_t count, uint64_t seed);

// All images in two parts, the second a share (0 to 1, but at least one image in either) drawn at random.
struct HeldOut {
  std::shared_ptr<const Dataset> rest, held_out;
};
int64_t held_out_count(int64_t n, double share);  // of so many images; at least one of each kind
HeldOut hold_out(std::shared_ptr<const Dataset> whole, double share, uint64_t seed);

}  // namespace mdsm::data
