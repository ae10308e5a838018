// Where images come from: the Dataset of <mdsm/dataset.h>, and open_dataset(), which makes one from a source
// and the fitting options of the command line.
#pragma once

#include <mdsm/dataset.h>
#include <cstdint>
#include <memory>
#include <string>

#include "core/enum_names.h"
#include "core/tensor.h"

namespace mdsm {

constexpr auto enum_names(Split) { return names_of<Split>({{Split::train, "train"}, {Split::test, "test"}}); }

}  // namespace mdsm

namespace mdsm::data {

using mdsm::Dataset;
using mdsm::Split;

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
  bool skip_damaged = false;  // a folder: leave out images that cannot be read, with a warning
  bool flip = false;          // random horizontal flip while training
  uint64_t seed = 0;          // for random sources (stacked MNIST), and for random_limit
};

// Reads and fits the whole source into memory (8 bits a value; floats only for float .npy).
std::unique_ptr<Dataset> open_dataset(const DataOptions& options);

}  // namespace mdsm::data
