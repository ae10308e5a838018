// The second seam: where images come from. A Dataset is a fixed list of equally sized images in [0,1] that
// can be read in any order from any thread. open_dataset() makes one from a source and the fitting options of
// the command line.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/tensor.h"

namespace mdsm::data {

enum class Split { train, test };
constexpr auto enum_names(Split) { return names_of<Split>({{Split::train, "train"}, {Split::test, "test"}}); }

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

enum class Colour { keep, grey, rgb, apart };  // apart: every channel an image of its own
constexpr auto enum_names(Colour) {
  return names_of<Colour>(
      {{Colour::keep, "keep"}, {Colour::grey, "grey"}, {Colour::rgb, "rgb"}, {Colour::apart, "apart"}});
}

// How raw images become the network's: applied in the order crop, resize, pad, colour.
struct DataOptions {
  std::string source;          // a name of the table in sources.h, NAME:PATH, or a path
  Split split = Split::train;  // where a source has only one, that one is used for both
  int64_t limit = 0;           // only so many images: the first; 0 = all
  bool random_limit = false;   // or rather a random subset, by the seed: sources are often sorted by class
  int64_t crop = 0;            // centre crop to a square of this size; 0 = none
  int64_t resize = 0;          // antialiased resize to a square of this size; 0 = none
  int64_t pad = -1;            // zero-pad to a square of this size; -1 = 28x28 images to 32, 0 = none
  Colour colour = Colour::keep;
  bool flip = false;  // random horizontal flip while training
  uint64_t seed = 0;  // for random sources (stacked MNIST), and for random_limit
};

// Reads and fits the whole source into memory (8 bits a value; floats only for float .npy).
std::unique_ptr<Dataset> open_dataset(const DataOptions& options);

}  // namespace mdsm::data
