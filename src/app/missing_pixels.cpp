#include "app/missing_pixels.h"

#include "core/error.h"

namespace mdsm::app {

MissingPixels::MissingPixels(const MissingOptions& options) : options_(options) {
  if (options.kind == MissingKind::mask) mask_ = image::read_image(options.mask);
  if (options.kind == MissingKind::box) box_ = image::parse_box(options.box, "--box");
}

image::Mask MissingPixels::mask(const Shape& picture, uint64_t seed, uint64_t index,
                                const std::string& name) const {
  if (mask_) return image::mask_of_image(*mask_, options_.mask, picture.w, picture.h, name);
  if (box_) return image::box_mask(*box_, picture.w, picture.h, name);
  return image::random_mask(options_.share, seed, index, picture.w, picture.h);
}

std::string MissingPixels::text() const {
  if (mask_) return "mask " + options_.mask;
  return box_ ? "box " + options_.box : fmt::format("random {}", options_.share);
}

}  // namespace mdsm::app
