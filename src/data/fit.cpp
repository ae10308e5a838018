// Fitting of whole sets: crop, resize, pad, colour, plane by plane, so that any number of channels and both
// 8-bit and float values go the same way.
#include <algorithm>

#include "core/error.h"
#include "core/threads.h"
#include "data/source.h"
#include "image/image.h"
#include "image/raster.h"

namespace mdsm::data {
namespace {

constexpr int64_t kMaxSize = 4096;

uint8_t grey(uint8_t r, uint8_t g, uint8_t b) { return image::luma(r, g, b); }
float grey(float r, float g, float b) { return 0.299f * r + 0.587f * g + 0.114f * b; }

void check(const RawImages& images, const DataOptions& options) {
  const Shape& s = images.shape;
  if (options.crop > std::min(s.h, s.w))
    fail_usage(fmt::format("crop to {} at most, or leave --crop out", std::min(s.h, s.w)),
               "{}: images of {}x{} pixels cannot be cropped to {}", images.from, s.w, s.h, options.crop);
  const int64_t h = options.resize > 0 ? options.resize : options.crop > 0 ? options.crop : s.h;
  const int64_t w = options.resize > 0 ? options.resize : options.crop > 0 ? options.crop : s.w;
  if (options.pad > 0 && options.pad < std::max(h, w))
    fail_usage("pad to more, or use --resize", "{}: images of {}x{} pixels cannot be padded to {}",
               images.from, w, h, options.pad);
  if (options.colour == Colour::apart)  // open_dataset() takes whole sets apart; one picture stays one
    fail_usage("use keep, grey or rgb", "{}: --colour apart is for whole sets", images.from);
  if (options.colour != Colour::keep && s.c != 1 && s.c != 3)
    fail_usage("use --colour keep", "{}: images of {} channels are neither grey nor RGB", images.from, s.c);
  if (std::max({options.crop, options.resize, options.pad}) > kMaxSize)
    fail_usage(fmt::format("at most {}", kMaxSize), "images of {} pixels a side are too large",
               std::max({options.crop, options.resize, options.pad}));
}

enum class Step { crop_or_pad, resize };

// Every plane of every image to size x size. `values` is replaced.
template <class T>
void fit_planes(std::vector<T>& values, Shape& shape, int64_t size, Step step) {
  if (shape.h == size && shape.w == size) return;
  const Shape to{shape.n, shape.c, size, size};
  std::vector<T> out(static_cast<size_t>(to.count()));
  parallel_for(shape.n * shape.c, 64, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const image::Raster<const T> source{values.data() + plane * shape.h * shape.w, shape.w, shape.h, 1};
      const image::Raster<T> target{out.data() + plane * size * size, size, size, 1};
      if (step == Step::resize)
        image::resize_raster(source, target);
      else
        image::copy_centred(source, target);
    }
  });
  values = std::move(out);
  shape = to;
}

template <class T>
void fit_colour(std::vector<T>& values, Shape& shape, Colour colour) {
  const int64_t channels = colour == Colour::grey ? 1 : 3, plane = shape.h * shape.w;
  if (colour == Colour::keep || channels == shape.c) return;
  const Shape to{shape.n, channels, shape.h, shape.w};
  std::vector<T> out(static_cast<size_t>(to.count()));
  parallel_for(shape.n, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* from = values.data() + i * shape.per_image();
      T* target = out.data() + i * to.per_image();
      for (int64_t p = 0; p < plane; ++p) {
        if (channels == 1)
          target[p] = grey(from[p], from[plane + p], from[2 * plane + p]);
        else
          for (int64_t c = 0; c < 3; ++c) target[c * plane + p] = from[p];
      }
    }
  });
  values = std::move(out);
  shape = to;
}

}  // namespace

RawImages raw_image(image::Picture picture, std::string from) {
  RawImages raw;
  raw.shape = picture.shape;
  raw.values = std::move(picture.values);
  raw.from = std::move(from);
  return raw;
}

RawImages fit(RawImages images, const DataOptions& options) {
  check(images, options);
  std::visit(
      [&](auto& values) {
        Shape& shape = images.shape;
        if (options.crop > 0) fit_planes(values, shape, options.crop, Step::crop_or_pad);
        if (options.resize > 0) fit_planes(values, shape, options.resize, Step::resize);
        if (options.pad > 0) fit_planes(values, shape, options.pad, Step::crop_or_pad);
        // No network takes 28 pixels; the paper pads these sets to 32.
        if (options.pad < 0 && shape.h == 28 && shape.w == 28)
          fit_planes(values, shape, 32, Step::crop_or_pad);
        fit_colour(values, shape, options.colour);
      },
      images.values);
  return images;
}

}  // namespace mdsm::data
