#include "data/npz.h"

#include <algorithm>

#include "core/error.h"
#include "io/npy.h"
#include "io/zip.h"

namespace mdsm::data {
namespace {

std::vector<uint8_t> channels_last(const Dataset& images) {
  const Shape shape = images.image_shape().with_n(images.size());
  const auto plane = static_cast<size_t>(shape.h * shape.w), channels = static_cast<size_t>(shape.c);
  std::vector<uint8_t> pixels;
  pixels.reserve(static_cast<size_t>(shape.count()));
  std::vector<float> image(plane * channels);
  for (int64_t i = 0; i < shape.n; ++i) {
    images.read(i, image);
    for (size_t p = 0; p < plane; ++p)
      for (size_t c = 0; c < channels; ++c)
        pixels.push_back(static_cast<uint8_t>(std::clamp(image[c * plane + p], 0.0f, 1.0f) * 255.0f + 0.5f));
  }
  return pixels;
}

std::vector<int64_t> labels_of(const Dataset& images) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < images.size(); ++i) {
    if (images.label(i) < 0) return {};
    labels.push_back(images.label(i));
  }
  return labels;
}

}  // namespace

void write_npz(const fs::path& path, const Dataset& images) {
  const Shape shape = images.image_shape();
  AtomicFile file(path);
  io::ZipWriter zip(file);
  const auto add = [&](const char* name, const std::string& bytes) {
    zip.add(name, std::as_bytes(std::span(bytes)));
  };
  add("arr_0.npy", io::npy_bytes({images.size(), shape.h, shape.w, shape.c},
                                 std::span<const uint8_t>(channels_last(images))));
  if (const std::vector<int64_t> labels = labels_of(images); !labels.empty())
    add("arr_1.npy", io::npy_bytes({images.size()}, std::span<const int64_t>(labels)));
  zip.finish();
  file.commit();
}

}  // namespace mdsm::data
