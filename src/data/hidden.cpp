#include "data/hidden.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/random.h"

namespace mdsm::data {

PixelBox parse_box(const std::string& text, const std::string& option) {
  int64_t values[4] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int i = 0; i < 4; ++i) {
    const auto [next, error] = std::from_chars(at, end, values[i]);
    const bool last = i == 3;
    if (error != std::errc() || (last ? next != end : next == end || *next != ','))
      fail_usage("write x,y,width,height in pixels, as in 8,8,16,16", "{}: '{}' is not a box", option, text);
    at = next + 1;
  }
  const PixelBox box{values[0], values[1], values[2], values[3]};
  if (box.x < 0 || box.y < 0)
    fail_usage("count from the top left, 0,0", "{}: '{}' starts outside", option, text);
  if (box.width < 1 || box.height < 1)
    fail_usage("width and height start at 1", "{}: the box '{}' is empty", option, text);
  return box;
}

HiddenPixels hidden_by_mask(const image::Image& mask, const std::string& mask_name, int64_t width, int64_t height,
                            const std::string& name) {
  if (mask.width != width || mask.height != height)
    fail("give a mask of the picture's own size", "{}: a mask of {}x{} pixels for {} of {}x{}", mask_name,
         mask.width, mask.height, name, width, height);
  const image::Image grey = image::to_grey(mask);
  HiddenPixels hidden;
  for (const uint8_t value : grey.pixels) hidden.push_back(value >= 128 ? 1 : 0);
  if (std::ranges::find(hidden, 1) == hidden.end())
    fail("paint what is missing white", "{}: the mask hides no pixel", mask_name);
  return hidden;
}

HiddenPixels hidden_by_box(const PixelBox& box, int64_t width, int64_t height, const std::string& name) {
  if (box.x >= width || box.width > width - box.x || box.y >= height || box.height > height - box.y)
    fail_usage("keep the box inside", "{}: the box {},{},{},{} leaves the picture of {}x{} pixels", name,
               box.x, box.y, box.width, box.height, width, height);
  HiddenPixels hidden(static_cast<size_t>(width * height));
  for (int64_t y = box.y; y < box.y + box.height; ++y)
    std::fill_n(hidden.begin() + y * width + box.x, box.width, uint8_t{1});
  return hidden;
}

HiddenPixels hidden_by_chance(double share, uint64_t seed, uint64_t index, int64_t width, int64_t height) {
  HiddenPixels hidden(static_cast<size_t>(width * height));
  RandomStream stream(seed, Purpose::hidden_pixels, index);
  for (uint8_t& value : hidden) value = stream.uniform() < share ? 1 : 0;
  return hidden;
}

void blacken(image::Image& picture, const HiddenPixels& hidden) {
  for (size_t i = 0; i < hidden.size(); ++i)
    if (hidden[i])
      std::fill_n(picture.pixels.begin() + static_cast<int64_t>(i) * picture.channels, picture.channels,
                  uint8_t{0});
}

}  // namespace mdsm::data
