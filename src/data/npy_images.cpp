// Images in one .npy array: uint8, or floats in [0,1]; N,H,W or N,C,H,W or N,H,W,C.
#include "core/error.h"
#include "data/source.h"
#include "io/npy.h"

namespace mdsm::data {
namespace {

// The channels are the shorter of the axes 1 and 3; where they are equal, axis 1.
bool channels_last(const std::vector<int64_t>& shape) { return shape.size() == 4 && shape[3] < shape[1]; }

Shape shape_of(const std::vector<int64_t>& s, const std::string& name) {
  if (s.size() != 3 && s.size() != 4)
    fail("save N,H,W or N,C,H,W or N,H,W,C", "{}: an array of {} dimensions", name, s.size());
  for (const int64_t extent : s)
    if (extent < 1)
      fail("save at least one image", "{}: an array of ({}) is empty", name, fmt::join(s, ", "));
  if (s.size() == 3) return {s[0], 1, s[1], s[2]};
  return channels_last(s) ? Shape{s[0], s[3], s[1], s[2]} : Shape{s[0], s[1], s[2], s[3]};
}

template <class T>
void channels_first(std::vector<T>& values, const Shape& s) {
  std::vector<T> out(values.size());
  const int64_t plane = s.h * s.w;
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t p = 0; p < plane; ++p)
        out[static_cast<size_t>((i * s.c + c) * plane + p)] =
            values[static_cast<size_t>((i * plane + p) * s.c + c)];
  values = std::move(out);
}

void check_range(const std::vector<float>& values, const Shape& s, const std::string& name) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!(values[i] >= 0.0f && values[i] <= 1.0f))
      fail("floats must lie between 0 and 1; scale them, or save uint8", "{}: image {} has the value {}",
           name, static_cast<int64_t>(i) / s.per_image(), values[i]);
}

RawImages read_npy_images(const SourceRequest& request) {
  const std::string name = request.path.string();
  io::NpyArray array = io::read_npy(request.path);
  RawImages raw;
  raw.shape = shape_of(array.shape, name);
  raw.from = name;
  const int64_t wanted = request.limited(raw.shape.n);
  std::visit(
      [&](auto& values) {
        values.resize(static_cast<size_t>(wanted * raw.shape.per_image()));
        raw.shape.n = wanted;
        if (channels_last(array.shape)) channels_first(values, raw.shape);
      },
      array.values);
  if (const auto* floats = std::get_if<std::vector<float>>(&array.values))
    check_range(*floats, raw.shape, name);
  raw.values = std::move(array.values);
  return fit(std::move(raw), request.options);
}

}  // namespace

Source npy_source() {
  return {.name = "npy",
          .what = "images in one array",
          .files = "an .npy array",
          .recognises = [](const fs::path& path) { return !is_folder(path) && ends_with(path, {".npy"}); },
          .read = read_npy_images};
}

}  // namespace mdsm::data
