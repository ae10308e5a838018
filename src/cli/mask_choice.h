// The options that say which pixels are hidden: --mask, --box or --random-missing.
#pragma once

#include <optional>
#include <string>

#include "core/options.h"
#include "data/hidden.h"

namespace mdsm::cli {

class MaskChoice {
 public:
  void declare(OptionSet& options);
  bool any(const OptionSet& options) const;
  // After parsing: exactly one must be given; reads the mask file.
  void resolve(const OptionSet& options);
  // For picture `index` of this size; name is for messages.
  data::HiddenPixels hidden(const image::Image& picture, uint64_t seed, uint64_t index, const std::string& name) const;
  const std::string& text() const { return text_; }  // "box 8,8,16,16", for files that say how they were made

 private:
  std::string mask_, box_text_, text_;
  double missing_ = 0.5;
  std::optional<image::Image> mask_image_;
  std::optional<data::PixelBox> box_;
};

}  // namespace mdsm::cli
