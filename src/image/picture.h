// One picture on its way to a network and back, as planes: bytes where it comes from an 8-bit file, floats in
// [0,1] where its source holds floats, so that nothing is rounded before the network sees it. Files and
// figures are image::Image.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/tensor.h"
#include "image/image.h"
#include "image/mask.h"

namespace mdsm::image {

using PixelValues = std::variant<std::vector<uint8_t>, std::vector<float>>;

// What a file has beside its colours, and a result keeps.
struct Kept {
  int bits = 8;                   // of a value in the file
  std::vector<uint16_t> alpha{};  // H,W, of as many bits; empty: opaque
  bool premultiplied = false;     // colours have been multiplied by alpha, as some TIFF files have it
  std::string profile{};          // ICC
};

struct Picture {
  Shape shape;         // n = 1
  PixelValues values;  // C,H,W
  Kept kept{};
};

// Files of 16 bits give floats k/65535, so that nothing of them is lost; others bytes. Colours are those of
// the file, whatever lies on them is transparent.
Picture decode_picture(std::span<const std::byte> file, const std::string& name);
Picture read_picture(const fs::path& path);
// With what the picture keeps, as TIFF where the name ends in .tif or .tiff, else as PNG.
bool is_tiff_name(const fs::path& path);
void write_picture(const fs::path& path, const Picture& picture,
                   const std::map<std::string, std::string>& text = {});

// The pixels of an image channel by channel.
std::vector<uint8_t> planes_of(const Image& image);
Picture to_picture(Image image);
Picture to_picture(const Tensor& one);  // floats; n = 1
// Floats are clamped and rounded to 8 bits. 1 channel gives grey, 3 RGB.
Image to_image(const Picture& picture);

// As resize() of images: bytes are rounded, floats are not. Transparency goes with it.
Picture resize(const Picture& picture, int64_t width, int64_t height);
// Pixels that are not known become 0 in all channels, whatever they were.
void blacken(Picture& picture, const Mask& mask);

}  // namespace mdsm::image
