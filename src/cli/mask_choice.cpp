#include "cli/mask_choice.h"

#include "core/error.h"

namespace mdsm::cli {

void MaskChoice::declare(OptionSet& options) {
  options.group("Missing pixels");
  options.add("mask", mask_, "image of the pictures' size: white is missing, black is known").meta("FILE");
  options.add("box", box_text_, "rectangle that is missing, in pixels from the top left").meta("X,Y,W,H");
  options.add("random-missing", missing_, "every pixel is missing with this probability").range(0.001, 1);
}

bool MaskChoice::any(const OptionSet& options) const {
  return options.given("mask") || options.given("box") || options.given("random-missing");
}

void MaskChoice::resolve(const OptionSet& options) {
  const int given = options.given("mask") + options.given("box") + options.given("random-missing");
  if (given != 1)
    fail_usage("use one of --mask, --box and --random-missing", "mdsm {}: {} which pixels are missing",
               options.command(), given == 0 ? "nothing says" : "several options say");
  if (options.given("mask")) {
    mask_image_ = image::read_image(mask_);
    text_ = "mask " + mask_;
  } else if (options.given("box")) {
    box_ = data::parse_box(box_text_, "--box");
    text_ = "box " + box_text_;
  } else {
    text_ = fmt::format("random {}", missing_);
  }
}

data::HiddenPixels MaskChoice::hidden(const image::Image& picture, uint64_t seed, uint64_t index,
                                const std::string& name) const {
  if (mask_image_) return data::hidden_by_mask(*mask_image_, mask_, picture.width, picture.height, name);
  if (box_) return data::hidden_by_box(*box_, picture.width, picture.height, name);
  return data::hidden_by_chance(missing_, seed, index, picture.width, picture.height);
}

}  // namespace mdsm::cli
