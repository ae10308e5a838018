// Which pixels of pictures are missing: those of a mask file, of a box, or random ones.
#pragma once

#include <optional>
#include <string>

#include "image/mask.h"

namespace mdsm::app {

enum class MissingKind { mask, box, random };

struct MissingOptions {
  MissingKind kind = MissingKind::random;
  std::string mask;    // an image of the pictures' size: white is missing, black is known
  std::string box;     // "x,y,width,height"
  double share = 0.5;  // random: the probability of each pixel
  bool coarse = true;  // large pictures: coarser scales first (coarse_to_fine.h)
};

class MissingPixels {
 public:
  explicit MissingPixels(const MissingOptions& options);  // reads the mask file
  // For picture `index` of this shape; name is for messages.
  image::Mask mask(const Shape& picture, uint64_t seed, uint64_t index, const std::string& name) const;
  std::string text() const;  // "box 8,8,16,16", for files that say how they were made

 private:
  MissingOptions options_;
  std::optional<image::Image> mask_;
  std::optional<image::PixelBox> box_;
};

}  // namespace mdsm::app
