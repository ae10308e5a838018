// 8-bit images for files and for people: PNG, JPEG, TIFF and WebP in, PNG out, fitting (crop, resize, pad,
// colour) and grids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/tensor.h"

namespace mdsm::image {

struct Image {
  int64_t width = 0, height = 0, channels = 0;  // 1 grey, 3 RGB
  std::vector<uint8_t> pixels;                  // height x width x channels

  uint8_t* row(int64_t y) { return pixels.data() + y * width * channels; }
  const uint8_t* row(int64_t y) const { return pixels.data() + y * width * channels; }
};

Image make_image(int64_t width, int64_t height, int64_t channels, uint8_t fill = 0);

// PNG, JPEG, TIFF or WebP, told apart by their first bytes and turned upright as their EXIF data tells;
// palettes become RGB, 16 bits 8 (image/picture.h keeps them), transparency black. Damaged and truncated
// files are errors, as are more than 32768 pixels a side or 1 GiB. `name` is for messages.
Image decode_image(std::span<const std::byte> file, const std::string& name);
Image read_image(const fs::path& path);
// Whether a file that starts like this is one of them; kImageStart bytes are enough.
constexpr size_t kImageStart = 12;
bool begins_as_image(std::span<const std::byte> start);
// text: PNG tEXt chunks, keyword to value.
void write_png(const fs::path& path, const Image& image, const std::map<std::string, std::string>& text = {});

// Antialiased when shrinking (triangle filter widened by the scale, as PIL's BILINEAR), bilinear when
// enlarging.
Image resize(const Image& image, int64_t width, int64_t height);
// Brightness of an RGB pixel (ITU-R 601 weights in 16 bits, as Pillow's "L").
constexpr uint8_t luma(uint32_t r, uint32_t g, uint32_t b) {
  return static_cast<uint8_t>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
}
Image to_grey(const Image& image);
Image to_rgb(const Image& image);

// From [0,1], clamped and rounded. Not a number becomes black: this is for looking, the checks are elsewhere.
uint8_t to_byte(float value);
// Values in [0,1], clamped and rounded to 8 bits. 1 channel gives grey, 3 RGB; of 2 or more than 3, the
// first.
Image to_image(ConstTensorView one);
// The images of x row by row on a grid with `columns` columns; each pixel drawn scale x scale, white gaps of
// `gap` pixels between. Cells of other sizes than the largest stand in the middle of theirs.
Image grid(ConstTensorView x, int64_t columns, int64_t scale = 1, int64_t gap = 2);
Image grid(std::span<const Image> cells, int64_t columns, int64_t scale = 1, int64_t gap = 2);

}  // namespace mdsm::image
