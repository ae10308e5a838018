#include "report/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace mdsm::report {
namespace {

constexpr float kDimmed = 0.4f;

using Colour = std::array<float, 3>;

// share: 0 transparent, 1 red.
Colour over(float grey, float share) {
  const Colour hot = {255.0f, 220.0f * (1 - share), 0.0f};
  const float cover = std::min(1.0f, 1.6f * share) * 0.75f;
  Colour out;
  for (size_t c = 0; c < 3; ++c) out[c] = (1 - cover) * grey + cover * hot[c];
  return out;
}

}  // namespace

image::Image heat_map(const image::Picture& picture, std::span<const float> heat, float low, float high) {
  const image::Image grey = image::to_grey(image::to_image(picture));
  image::Image out = image::make_image(grey.width, grey.height, 3);
  const float range = std::max(high - low, 1e-6f);
  for (size_t i = 0; i < grey.pixels.size(); ++i) {
    const auto value = static_cast<float>(grey.pixels[i]);
    const Colour colour = std::isnan(heat[i]) ? Colour{kDimmed * value, kDimmed * value, kDimmed * value}
                                              : over(value, std::clamp((heat[i] - low) / range, 0.0f, 1.0f));
    for (size_t c = 0; c < 3; ++c) out.pixels[3 * i + c] = static_cast<uint8_t>(colour[c] + 0.5f);
  }
  return out;
}

}  // namespace mdsm::report
