// Where images come from: a fixed list of equally sized images in [0,1] that can be read in any order from
// any thread. A class of one's own needs size(), image_shape(), read() and description().
#pragma once

#include <mdsm/tensor.h>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mdsm {

enum class Split { train, test };

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  virtual Shape image_shape() const = 0;  // n = 1
  // Copies image `index` to out (C,H,W values in [0,1]).
  virtual void read(int64_t index, std::span<float> out) const = 0;
  // Class of the image, or -1 where the source has no labels.
  virtual int label(int64_t) const { return -1; }
  virtual std::vector<std::string> class_names() const { return {}; }
  // The part of the source that was read. None where the source has no parts, so that train and test are the
  // same images.
  virtual std::optional<Split> part() const { return std::nullopt; }
  // Whether all values are those of 8 bits, k/255.
  virtual bool eight_bit() const { return false; }
  // The image's number in the source.
  virtual int64_t source_index(int64_t index) const { return index; }
  // One line: what it is and where it was read from.
  virtual std::string description() const = 0;
};

}  // namespace mdsm
