// One picture of any size made to fit a network, and the network's answer put back into the picture. The
// steps are those of `mdsm data` (crop, resize, pad, colour); what the options leave open is filled in: a
// picture that is too large is resized, one that is too small is padded.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "image/image.h"

namespace mdsm::data {

class Fitting {
 public:
  // network: shape of the network's images. Usage errors where the options lead to another shape. `name` is
  // for messages.
  Fitting(const image::Image& picture, const Shape& network, const DataOptions& options, const std::string& name);

  // (C,H,W) in [0,1], of the picture or of another one of its size.
  std::vector<float> fit(const image::Image& picture) const;
  // hidden: 1 for each pixel of the picture (H x W) that must not be seen. Gives 1 for each pixel of the
  // network (H x W) that a hidden one has any part in.
  std::vector<uint8_t> fit_hidden(std::span<const uint8_t> hidden) const;

  // Whether every hidden pixel lies in the part that the network sees; a crop leaves some out.
  bool covers(std::span<const uint8_t> hidden) const;

  // The picture in the network's colours with the fitted part replaced by result (C,H,W).
  image::Image put_back(std::span<const float> result, const image::Image& picture) const;
  // The picture in the network's colours.
  image::Image coloured(const image::Image& picture) const;

  // How it was fitted, for people: "640x480, resized to 32x32"; empty where nothing was to do.
  std::string text() const;

 private:
  struct Size {
    int64_t width = 0, height = 0;
    bool operator==(const Size&) const = default;
  };
  void check_picture(const image::Image& picture) const;

  Shape network_;
  DataOptions steps_;                 // crop, resize, pad and colour with nothing left open
  Size picture_, cropped_, resized_;  // after each step
  std::string name_;
};

}  // namespace mdsm::data
