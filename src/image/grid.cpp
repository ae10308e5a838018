// From tensors in [0,1] to images that people look at.
#include <algorithm>

#include "core/error.h"
#include "image/image.h"

namespace mdsm::image {
uint8_t to_byte(float value) {
  return value > 0 ? static_cast<uint8_t>(std::min(value, 1.0f) * 255.0f + 0.5f) : uint8_t{0};
}

Image to_image(ConstTensorView one) {
  const Shape& s = one.shape;
  if (s.n < 1) fail("give one image", "a tensor of {} holds no image", s.text());
  Image image = make_image(s.w, s.h, s.c == 3 ? 3 : 1);
  const int64_t plane = s.h * s.w;
  for (int64_t i = 0; i < plane; ++i)
    for (int64_t c = 0; c < image.channels; ++c)
      image.pixels[static_cast<size_t>(i * image.channels + c)] = to_byte(one.data[c * plane + i]);
  return image;
}

Image grid(std::span<const Image> cells, int64_t columns, int64_t scale, int64_t gap) {
  const auto n = static_cast<int64_t>(cells.size());
  if (n < 1) fail("give at least one image", "a grid of no images");
  if (columns < 1 || scale < 1 || gap < 0)
    fail("columns and scale start at 1, the gap at 0", "a grid of {} columns, scale {} and gap {}", columns,
         scale, gap);
  columns = std::min(columns, n);
  const int64_t rows = (n + columns - 1) / columns, channels = cells[0].channels;
  const int64_t width = std::ranges::max_element(cells, {}, &Image::width)->width * scale;
  const int64_t height = std::ranges::max_element(cells, {}, &Image::height)->height * scale;
  Image sheet = make_image(columns * (width + gap) - gap, rows * (height + gap) - gap, channels, 255);
  for (int64_t i = 0; i < n; ++i) {
    const Image& cell = cells[static_cast<size_t>(i)];
    const int64_t left = i % columns * (width + gap) + (width - cell.width * scale) / 2;
    const int64_t top = i / columns * (height + gap) + (height - cell.height * scale) / 2;
    for (int64_t y = 0; y < cell.height * scale; ++y)
      for (int64_t px = 0; px < cell.width * scale; ++px)
        std::copy_n(cell.row(y / scale) + px / scale * channels, channels,
                    sheet.row(top + y) + (left + px) * channels);
  }
  return sheet;
}

Image grid(ConstTensorView x, int64_t columns, int64_t scale, int64_t gap) {
  std::vector<Image> cells;
  for (int64_t i = 0; i < x.shape.n; ++i) cells.push_back(to_image(x.images(i, 1)));
  return grid(cells, columns, scale, gap);
}

}  // namespace mdsm::image
