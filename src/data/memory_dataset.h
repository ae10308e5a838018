// A data set whose images lie decoded in memory.
#pragma once

#include <string>
#include <vector>

#include "data/source.h"

namespace mdsm::data {

class MemoryDataset : public Dataset {
 public:
  MemoryDataset(RawImages images, std::string description);

  int64_t size() const override { return images_.shape.n; }
  Shape image_shape() const override { return images_.shape.with_n(1); }
  void read(int64_t index, std::span<float> out) const override;
  // Its values from this one on, as many as there is room for.
  void read_part(int64_t index, int64_t first, std::span<float> out) const;
  int label(int64_t index) const override;
  std::vector<std::string> class_names() const override { return images_.classes; }
  std::optional<Split> part() const override { return images_.part; }
  bool eight_bit() const override { return std::holds_alternative<std::vector<uint8_t>>(images_.values); }
  std::string description() const override { return description_; }

 private:
  void check_index(int64_t index) const;

  RawImages images_;
  std::string description_;
};

}  // namespace mdsm::data
