#include "data/fitting.h"

#include <algorithm>

#include "core/error.h"
#include "data/source.h"
#include "image/raster.h"

namespace mdsm::data {
namespace {

std::vector<uint8_t> planes_of(const image::Image& image) {
  std::vector<uint8_t> planes(image.pixels.size());
  const int64_t plane = image.width * image.height;
  for (int64_t p = 0; p < plane; ++p)
    for (int64_t c = 0; c < image.channels; ++c)
      planes[static_cast<size_t>(c * plane + p)] = image.pixels[static_cast<size_t>(p * image.channels + c)];
  return planes;
}

}  // namespace

Fitting::Fitting(const image::Image& picture, const Shape& network, const DataOptions& options,
                 const std::string& name)
    : network_(network.with_n(1)),
      steps_(options),
      picture_{picture.width, picture.height},
      cropped_(picture_),
      resized_(picture_),
      name_(name) {
  const int64_t size = network.w;
  if (options.crop > std::min(picture_.width, picture_.height))
    fail_usage("crop to less, or leave --crop out", "{}: {}x{} pixels cannot be cropped to {}", name,
               picture_.width, picture_.height, options.crop);
  if (options.crop > 0) cropped_ = resized_ = {options.crop, options.crop};
  const bool too_large = std::max(cropped_.width, cropped_.height) > size;
  if (steps_.resize == 0 && too_large) steps_.resize = size;
  if (steps_.resize > 0) resized_ = {steps_.resize, steps_.resize};
  const Size target{size, network.h};
  if (steps_.pad < 0) steps_.pad = std::max(resized_.width, resized_.height) <= size ? size : 0;
  const Size end = steps_.pad > 0 ? Size{steps_.pad, steps_.pad} : resized_;
  if (steps_.pad > 0 && steps_.pad < std::max(resized_.width, resized_.height))
    fail_usage("pad to more, or use --resize", "{}: {}x{} pixels cannot be padded to {}", name,
               resized_.width, resized_.height, steps_.pad);
  if (end != target)
    fail_usage(fmt::format("use --resize {}, or leave the sizes out", size),
               "{}: fitted to {}x{} pixels, but the model takes {}x{}", name, end.width, end.height, size,
               network.h);
  const int64_t channels = options.colour == "grey" ? 1 : options.colour == "rgb" ? 3 : picture.channels;
  if (channels != network.c)
    fail_usage(network.c == 1   ? "use --colour grey"
               : network.c == 3 ? "use --colour rgb"
                                : "give it images of its own kind",
               "{}: {} channel{}, but the model takes {}", name, channels, channels == 1 ? "" : "s",
               network.c);
}

void Fitting::check_picture(const image::Image& picture) const {
  if (Size{picture.width, picture.height} != picture_)
    fail("leave the files alone while they are worked on", "{}: {}x{} pixels where {}x{} were expected",
         name_, picture.width, picture.height, picture_.width, picture_.height);
}

std::vector<float> Fitting::fit(const image::Image& picture) const {
  check_picture(picture);
  RawImages raw;
  raw.shape = {1, picture.channels, picture.height, picture.width};
  raw.values = planes_of(picture);
  raw.from = name_;
  const RawImages fitted = data::fit(std::move(raw), steps_);
  std::vector<float> values;
  for (const uint8_t value : std::get<std::vector<uint8_t>>(fitted.values))
    values.push_back(static_cast<float>(value) / 255.0f);
  return values;
}

std::vector<uint8_t> Fitting::fit_hidden(std::span<const uint8_t> hidden) const {
  RawImages raw;
  raw.shape = {1, 1, picture_.height, picture_.width};
  raw.values = std::vector<float>(hidden.begin(), hidden.end());
  raw.from = name_;
  DataOptions steps = steps_;
  steps.colour = "keep";
  const RawImages fitted = data::fit(std::move(raw), steps);
  // The filter's weights are positive, so the sum is 0 exactly where no hidden pixel has a part.
  std::vector<uint8_t> out;
  for (const float part : std::get<std::vector<float>>(fitted.values)) out.push_back(part > 0 ? 1 : 0);
  return out;
}

bool Fitting::covers(std::span<const uint8_t> hidden) const {
  const int64_t left = (picture_.width - cropped_.width) / 2, top = (picture_.height - cropped_.height) / 2;
  for (int64_t y = 0; y < picture_.height; ++y)
    for (int64_t x = 0; x < picture_.width; ++x) {
      const bool inside = x >= left && x < left + cropped_.width && y >= top && y < top + cropped_.height;
      if (!inside && hidden[static_cast<size_t>(y * picture_.width + x)]) return false;
    }
  return true;
}

image::Image Fitting::coloured(const image::Image& picture) const {
  check_picture(picture);
  return network_.c == 1 ? image::to_grey(picture) : image::to_rgb(picture);
}

image::Image Fitting::put_back(std::span<const float> result, const image::Image& picture) const {
  image::Image out = coloured(picture);
  Tensor middle({1, network_.c, resized_.height, resized_.width});
  Tensor part({1, network_.c, cropped_.height, cropped_.width});
  for (int64_t c = 0; c < network_.c; ++c) {
    const image::Raster<const float> plane{result.data() + c * network_.h * network_.w, network_.w, network_.h, 1};
    float* inner = middle.data() + c * resized_.height * resized_.width;
    float* outer = part.data() + c * cropped_.height * cropped_.width;
    image::copy_centred<float>(plane, {inner, resized_.width, resized_.height, 1});
    for (int64_t i = 0; i < resized_.height * resized_.width; ++i)
      inner[i] = std::clamp(inner[i], 0.0f, 1.0f);
    const image::Raster<const float> source{inner, resized_.width, resized_.height, 1};
    const image::Raster<float> target{outer, cropped_.width, cropped_.height, 1};
    if (resized_ == cropped_)
      image::copy_centred(source, target);
    else
      image::resize_raster(source, target);
  }
  const image::Image piece = image::to_image(part);
  image::copy_centred<uint8_t>({piece.pixels.data(), piece.width, piece.height, piece.channels},
                        {out.pixels.data(), out.width, out.height, out.channels});
  return out;
}

std::string Fitting::text() const {
  std::string steps;
  if (cropped_ != picture_) steps += fmt::format(", cropped to {0}x{0}", steps_.crop);
  if (resized_ != cropped_) steps += fmt::format(", resized to {0}x{0}", steps_.resize);
  if (resized_ != Size{network_.w, network_.h}) steps += fmt::format(", padded to {0}x{0}", steps_.pad);
  return steps.empty() ? "" : fmt::format("{}x{}{}", picture_.width, picture_.height, steps);
}

}  // namespace mdsm::data
