#include "data/fitting.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "data/source.h"
#include "image/raster.h"

namespace mdsm::data {

Fitting::Fitting(const Shape& picture, const Shape& network, const DataOptions& options,
                 const std::string& name, Sizes sizes)
    : network_(network.with_n(1)),
      steps_(options),
      picture_{picture.w, picture.h},
      cropped_(picture_),
      resized_(picture_),
      name_(name) {
  if (options.crop > std::min(picture_.width, picture_.height))
    fail_usage("crop to less, or leave --crop out", "{}: {}x{} pixels cannot be cropped to {}", name,
               picture_.width, picture_.height, options.crop);
  if (options.crop > 0) cropped_ = resized_ = {options.crop, options.crop};
  if (sizes == Sizes::own) fill_in(network.w);
  if (steps_.resize > 0) resized_ = {steps_.resize, steps_.resize};
  steps_.pad = std::max<int64_t>(0, steps_.pad);
  const Size end = steps_.pad > 0 ? Size{steps_.pad, steps_.pad} : resized_;
  if (steps_.pad > 0 && steps_.pad < std::max(resized_.width, resized_.height))
    fail_usage("pad to more, or use --resize", "{}: {}x{} pixels cannot be padded to {}", name,
               resized_.width, resized_.height, steps_.pad);
  if (sizes == Sizes::own && end != Size{network.w, network.h})
    fail_usage(fmt::format("use --resize {}, or leave the sizes out", network.w),
               "{}: fitted to {}x{} pixels, but the model takes {}x{}", name, end.width, end.height,
               network.w, network.h);
  network_.h = end.height, network_.w = end.width;
  const int64_t channels = options.colour == Colour::grey ? 1 : options.colour == Colour::rgb ? 3 : picture.c;
  if (channels != network.c)
    fail_usage(network.c == 1   ? "use --colour grey"
               : network.c == 3 ? "use --colour rgb"
                                : "give it images of its own kind",
               "{}: {} channel{}, but the model takes {}", name, channels, channels == 1 ? "" : "s",
               network.c);
}

void Fitting::fill_in(int64_t size) {
  int64_t side = std::max(cropped_.width, cropped_.height);
  if (steps_.resize == 0 && side > size) steps_.resize = size;
  if (steps_.resize > 0) side = steps_.resize;
  if (steps_.pad < 0) steps_.pad = side <= size ? size : 0;
}

void Fitting::check_picture(const image::Picture& picture) const {
  const Shape& s = picture.shape;
  if (Size{s.w, s.h} != picture_)
    fail("leave the files alone while they are worked on", "{}: {}x{} pixels where {}x{} were expected",
         name_, s.w, s.h, picture_.width, picture_.height);
}

std::vector<float> Fitting::fit(const image::Picture& picture) const {
  check_picture(picture);
  RawImages fitted = data::fit(raw_image(picture, name_), steps_);
  if (auto* floats = std::get_if<std::vector<float>>(&fitted.values)) return std::move(*floats);
  const auto& bytes = std::get<std::vector<uint8_t>>(fitted.values);
  std::vector<float> values(bytes.size());
  std::ranges::transform(bytes, values.begin(),
                         [](uint8_t value) { return static_cast<float>(value) / 255.0f; });
  return values;
}

image::Mask Fitting::fit(const image::Mask& mask) const {
  RawImages missing;
  missing.shape = {1, 1, picture_.height, picture_.width};
  std::vector<float> parts;
  for (const uint8_t known : mask.known) parts.push_back(known ? 0.0f : 1.0f);
  missing.values = std::move(parts);
  missing.from = name_;
  DataOptions steps = steps_;
  steps.colour = Colour::keep;
  const RawImages fitted = data::fit(std::move(missing), steps);
  // The filter's weights are positive, so the sum is 0 exactly where no missing pixel has a part.
  image::Mask out{fitted.shape, {}};
  for (const float part : std::get<std::vector<float>>(fitted.values)) out.known.push_back(part > 0 ? 0 : 1);
  return out;
}

bool Fitting::covers(const image::Mask& mask) const {
  const int64_t left = (picture_.width - cropped_.width) / 2, top = (picture_.height - cropped_.height) / 2;
  for (int64_t y = 0; y < picture_.height; ++y)
    for (int64_t x = 0; x < picture_.width; ++x) {
      const bool inside = x >= left && x < left + cropped_.width && y >= top && y < top + cropped_.height;
      if (!inside && !mask.at(0, 0, y, x)) return false;
    }
  return true;
}

image::Picture Fitting::coloured(const image::Picture& picture) const {
  check_picture(picture);
  DataOptions only_colour;
  only_colour.pad = 0;
  only_colour.colour = network_.c == 1 ? Colour::grey : Colour::rgb;
  RawImages raw = data::fit(raw_image(picture, name_), only_colour);
  return {raw.shape, std::move(raw.values), picture.kept};
}

std::vector<float> Fitting::scaled_back(std::span<const float> plane) const {
  std::vector<float> inner(static_cast<size_t>(resized_.width * resized_.height));
  image::copy_centred<float>({plane.data(), network_.w, network_.h, 1},
                             {inner.data(), resized_.width, resized_.height, 1});
  if (resized_ == cropped_) return inner;
  std::vector<float> outer(static_cast<size_t>(cropped_.width * cropped_.height));
  image::resize_raster(image::Raster<const float>{inner.data(), resized_.width, resized_.height, 1},
                       {outer.data(), cropped_.width, cropped_.height, 1});
  return outer;
}

std::vector<float> Fitting::placed(std::span<const float> plane) const {
  std::vector<float> out(static_cast<size_t>(picture_.width * picture_.height),
                         std::numeric_limits<float>::quiet_NaN());
  const std::vector<float> part = scaled_back(plane);
  image::copy_centred<float>({part.data(), cropped_.width, cropped_.height, 1},
                             {out.data(), picture_.width, picture_.height, 1});
  return out;
}

// part: of the cropped size, put on the middle of plane c.
template <class T>
void Fitting::replace_centre(const std::vector<float>& part, int64_t c, std::vector<T>& values) const {
  std::vector<T> converted(part.size());
  if constexpr (std::same_as<T, uint8_t>)
    std::ranges::transform(part, converted.begin(), image::to_byte);
  else
    std::ranges::copy(part, converted.begin());
  image::copy_centred<T>(
      {converted.data(), cropped_.width, cropped_.height, 1},
      {values.data() + c * picture_.width * picture_.height, picture_.width, picture_.height, 1});
}

image::Picture Fitting::put_back(std::span<const float> result, const image::Picture& picture) const {
  check_picture(picture);
  image::Picture out = coloured(picture);
  const auto plane = static_cast<size_t>(network_.h * network_.w);
  for (int64_t c = 0; c < network_.c; ++c) {
    std::vector<float> clamped(plane);
    std::ranges::transform(result.subspan(static_cast<size_t>(c) * plane, plane), clamped.begin(),
                           [](float value) { return std::clamp(value, 0.0f, 1.0f); });
    const std::vector<float> part = scaled_back(clamped);
    std::visit([&](auto& values) { replace_centre(part, c, values); }, out.values);
  }
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
