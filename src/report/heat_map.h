// Where a picture is strange: the picture in grey, and over it yellow to red.
#pragma once

#include <span>

#include "image/picture.h"

namespace mdsm::report {

// heat: of every pixel of the picture (H,W). Up to `low` the picture shows as it is, in grey; from there on
// it turns yellow and then, at `high`, red. Pixels that are not a number were not looked at and are dimmed.
image::Image heat_map(const image::Picture& picture, std::span<const float> heat, float low, float high);

}  // namespace mdsm::report
