#include "data/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/random.h"

namespace mdsm::data {
namespace {

// Where pixel (x, y) of the new image lies in the old one: a turn and a scale about the middle, then a shift.
struct Motion {
  double cosine = 1, sine = 0, x = 0, y = 0;
};

double between(RandomStream& stream, double low, double high) {
  return low + (high - low) * stream.uniform();
}

Motion draw(RandomStream& stream, const AugmentOptions& options) {
  Motion motion;
  const auto steps = static_cast<uint64_t>(2 * options.shift + 1);
  if (options.shift > 0)
    motion.x = static_cast<double>(stream.below(steps)) - static_cast<double>(options.shift);
  if (options.shift > 0)
    motion.y = static_cast<double>(stream.below(steps)) - static_cast<double>(options.shift);
  const double angle = options.rotate > 0 ? between(stream, -options.rotate, options.rotate) : 0;
  const double scale = options.zoom > 0 ? between(stream, 1 - options.zoom, 1) : 1;
  motion.cosine = scale * std::cos(angle * std::numbers::pi / 180);
  motion.sine = scale * std::sin(angle * std::numbers::pi / 180);
  return motion;
}

// Bilinear between pixels; exact where they fall on each other.
float sample(const float* plane, int64_t height, int64_t width, double y, double x) {
  y = std::clamp(y, 0.0, static_cast<double>(height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  const int64_t below = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const auto down = static_cast<float>(y - static_cast<double>(top)),
             along = static_cast<float>(x - static_cast<double>(left));
  const float upper = plane[top * width + left] * (1 - along) + plane[top * width + right] * along;
  const float lower = plane[below * width + left] * (1 - along) + plane[below * width + right] * along;
  return upper * (1 - down) + lower * down;
}

void move(std::span<float> image, const Shape& shape, const Motion& motion) {
  const std::vector<float> before(image.begin(), image.end());
  const double middle_y = static_cast<double>(shape.h - 1) / 2,
               middle_x = static_cast<double>(shape.w - 1) / 2;
  float* to = image.data();
  for (int64_t c = 0; c < shape.c; ++c)
    for (int64_t y = 0; y < shape.h; ++y)
      for (int64_t x = 0; x < shape.w; ++x) {
        const double dy = static_cast<double>(y) - middle_y, dx = static_cast<double>(x) - middle_x;
        *to++ = sample(before.data() + c * shape.h * shape.w, shape.h, shape.w,
                       middle_y + motion.cosine * dy + motion.sine * dx + motion.y,
                       middle_x - motion.sine * dy + motion.cosine * dx + motion.x);
      }
}

void flip_rows(std::span<float> image, int64_t width) {
  for (auto row = image.begin(); row != image.end(); row += width) std::reverse(row, row + width);
}

}  // namespace

void declare_augment_options(OptionSet& options, AugmentOptions& augment) {
  options.group("Data");
  options.add("shift", augment.shift, "move images by up to so many pixels each way, at random")
      .range(0, 1024);
  options.add("zoom", augment.zoom, "random crops: cut up to this share of the sides and enlarge")
      .range(0, 0.9);
  options.add("rotate", augment.rotate, "turn images by up to so many degrees, at random").range(0, 180);
  options.add("brightness", augment.brightness, "multiply values by up to this share more or less, at random")
      .range(0, 1);
}

// The first draw of the stream is that of --flip, as it always was.
void augment(std::span<float> image, const Shape& shape, const AugmentOptions& options, uint64_t seed,
             uint64_t place) {
  RandomStream stream(seed, Purpose::flip, place);
  const bool flipped = stream.bits() >> 31;
  if (options.flip && flipped) flip_rows(image, shape.w);
  if (options.moves()) move(image, shape, draw(stream, options));
  if (options.brightness > 0) {
    const auto factor = static_cast<float>(between(stream, 1 - options.brightness, 1 + options.brightness));
    for (float& value : image) value = std::clamp(value * factor, 0.0f, 1.0f);
  }
}

}  // namespace mdsm::data
