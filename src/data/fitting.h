// One picture of any size made to fit a network, and the network's answer put back into the picture. The
// steps are those of `mdsm data` (crop, resize, pad, colour); what the options leave open is filled in: for a
// network of one size, a picture that is too large is resized, one that is too small is padded; for a network
// that takes any size, the picture stays as it is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "image/picture.h"

namespace mdsm::data {

// What sizes a network takes: its own, or any.
enum class Sizes { own, any };

class Fitting {
 public:
  // picture: its shape. network: shape of the network's images. Usage errors where the options lead to
  // another shape. `name` is for messages.
  Fitting(const Shape& picture, const Shape& network, const DataOptions& options, const std::string& name,
          Sizes sizes = Sizes::own);

  // Of the fitted picture, n = 1: the network's, or where it takes any size, what the options make of it.
  const Shape& shape() const { return network_; }

  // (C,H,W) in [0,1], of the picture or of another one of its size.
  std::vector<float> fit(const image::Picture& picture) const;
  // The picture's mask (1,1,H,W) for the network: a pixel is known where no missing one has any part in it.
  image::Mask fit(const image::Mask& mask) const;

  // Whether every missing pixel lies in the part that the network sees; a crop leaves some out.
  bool covers(const image::Mask& mask) const;

  // The picture in the network's colours with the fitted part replaced by result (C,H,W); bytes stay bytes
  // and floats floats.
  image::Picture put_back(std::span<const float> result, const image::Picture& picture) const;
  // A plane of the network's size (H,W) where it belongs in the picture (H,W of that); what the network did
  // not see is not a number.
  std::vector<float> placed(std::span<const float> plane) const;
  // The picture in the network's colours.
  image::Picture coloured(const image::Picture& picture) const;

  // How it was fitted, for people: "640x480, resized to 32x32"; empty where nothing was to do.
  std::string text() const;

 private:
  struct Size {
    int64_t width = 0, height = 0;
    bool operator==(const Size&) const = default;
  };
  void fill_in(int64_t size);  // what the options leave open, for a network of one size
  void check_picture(const image::Picture& picture) const;
  // A plane of the network's size (H,W) without padding, scaled back: the cropped part of the picture.
  std::vector<float> scaled_back(std::span<const float> plane) const;
  template <class T>
  void replace_centre(const std::vector<float>& part, int64_t c, std::vector<T>& values) const;

  Shape network_;
  DataOptions steps_;                 // crop, resize, pad and colour with nothing left open
  Size picture_, cropped_, resized_;  // after each step
  std::string name_;
};

}  // namespace mdsm::data
