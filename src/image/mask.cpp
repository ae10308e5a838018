#include "image/mask.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/error.h"
#include "core/random.h"

namespace mdsm::image {
namespace {

Mask all_known(int64_t width, int64_t height) {
  return {{1, 1, height, width}, std::vector<uint8_t>(static_cast<size_t>(width * height), 1)};
}

// "8,8,16,16" with the given mark between; nothing where the text is anything else.
template <size_t kCount>
std::optional<std::array<int64_t, kCount>> whole_numbers(const std::string& text, char mark) {
  std::array<int64_t, kCount> values = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < kCount; ++i) {
    const auto [next, error] = std::from_chars(at, end, values[i]);
    const bool last = i + 1 == kCount;
    if (error != std::errc() || (last ? next != end : next == end || *next != mark)) return std::nullopt;
    at = next + 1;
  }
  return values;
}

}  // namespace

bool Mask::at(int64_t n, int64_t c, int64_t y, int64_t x) const {
  const int64_t row = (shape.n == 1 ? 0 : n) * shape.c + (shape.c == 1 ? 0 : c);
  return known[static_cast<size_t>((row * shape.h + y) * shape.w + x)] != 0;
}

double Mask::missing_share() const {
  const auto missing = std::ranges::count(known, uint8_t{0});
  return known.empty() ? 0 : static_cast<double>(missing) / static_cast<double>(known.size());
}

PixelSize parse_size(const std::string& text, const std::string& option) {
  const auto values = whole_numbers<2>(text, 'x');
  if (!values || std::ranges::min(*values) < 1)
    fail_usage("write the width and the height in pixels, as in 48x40", "{}: '{}' is no size", option, text);
  return {(*values)[0], (*values)[1]};
}

PixelBox parse_box(const std::string& text, const std::string& option) {
  const auto numbers = whole_numbers<4>(text, ',');
  if (!numbers)
    fail_usage("write x,y,width,height in pixels, as in 8,8,16,16", "{}: '{}' is not a box", option, text);
  const auto& values = *numbers;
  const PixelBox box{values[0], values[1], values[2], values[3]};
  if (box.x < 0 || box.y < 0)
    fail_usage("count from the top left, 0,0", "{}: '{}' starts outside", option, text);
  if (box.width < 1 || box.height < 1)
    fail_usage("width and height start at 1", "{}: the box '{}' is empty", option, text);
  return box;
}

Mask mask_of_image(const Image& white_is_missing, const std::string& mask_name, int64_t width, int64_t height,
                   const std::string& name) {
  if (white_is_missing.width != width || white_is_missing.height != height)
    fail("give a mask of the picture's own size", "{}: a mask of {}x{} pixels for {} of {}x{}", mask_name,
         white_is_missing.width, white_is_missing.height, name, width, height);
  const Image grey = to_grey(white_is_missing);
  Mask mask = all_known(width, height);
  std::ranges::transform(grey.pixels, mask.known.begin(), [](uint8_t value) { return value < 128 ? 1 : 0; });
  if (std::ranges::find(mask.known, 0) == mask.known.end())
    fail("paint what is missing white", "{}: the mask hides no pixel", mask_name);
  return mask;
}

Mask box_mask(const PixelBox& box, int64_t width, int64_t height, const std::string& name) {
  // Written so that no sum can overflow.
  const bool inside = box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0 && box.x < width &&
                      box.width <= width - box.x && box.y < height && box.height <= height - box.y;
  if (!inside)
    fail_usage("keep the box inside", "{}: the box {},{},{},{} leaves the picture of {}x{} pixels", name,
               box.x, box.y, box.width, box.height, width, height);
  Mask mask = all_known(width, height);
  for (int64_t y = box.y; y < box.y + box.height; ++y)
    std::fill_n(mask.known.begin() + y * width + box.x, box.width, uint8_t{0});
  return mask;
}

Mask random_mask(double share, uint64_t seed, uint64_t index, int64_t width, int64_t height) {
  if (!(share >= 0 && share <= 1)) fail_usage("use 0 to 1", "{} is no share of missing pixels", share);
  Mask mask = all_known(width, height);
  RandomStream stream(seed, Purpose::hidden_pixels, index);
  for (uint8_t& value : mask.known) value = stream.uniform() < share ? 0 : 1;
  return mask;
}

}  // namespace mdsm::image
