// WebP through libwebp: still pictures of 8 bits; profile and orientation from the chunks around them.
#include <webp/decode.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "image/codecs.h"
#include "image/exif.h"

namespace mdsm::image {
namespace {

// The content of the first chunk of this kind that is whole: each is a name, a length and bytes, filled up to
// an even number.
FileBytes find_riff_chunk(FileBytes file, std::string_view wanted) {
  constexpr size_t kFirst = 12, kHead = 8;
  for (size_t at = kFirst; file.size() > at && file.size() - at >= kHead;) {
    const auto byte = [&](size_t i) { return static_cast<size_t>(file[at + i]); };
    const size_t length = byte(4) | byte(5) << 8 | byte(6) << 16 | byte(7) << 24;
    if (length > file.size() - at - kHead) break;
    const std::string_view type(reinterpret_cast<const char*>(file.data()) + at, 4);
    if (type == wanted) return file.subspan(at + kHead, length);
    at += kHead + length + length % 2;
  }
  return {};
}

// Some writers put before it what JPEG files have there.
int orientation_in(FileBytes exif) {
  const std::string_view start("Exif\0\0", 6), text(reinterpret_cast<const char*>(exif.data()), exif.size());
  return exif_orientation(text.starts_with(start) ? exif.subspan(start.size()) : exif);
}

}  // namespace

FileImage decode_webp(FileBytes file, const std::string& name) {
  const auto* data = reinterpret_cast<const uint8_t*>(file.data());
  WebPBitstreamFeatures features;
  const auto damaged = [&] { fail("use another copy of the file", "{}: damaged WebP file", name); };
  if (WebPGetFeatures(data, file.size(), &features) != VP8_STATUS_OK) damaged();
  if (features.has_animation)
    fail("use a still picture", "{}: an animated WebP file, which is not read", name);
  check_read_size(features.width, features.height, name);
  FileImage image{features.width, features.height, features.has_alpha ? 4 : 3};
  const auto row = static_cast<size_t>(image.width * image.channels);
  const size_t bytes = row * static_cast<size_t>(image.height);
  // Not a vector, which would fill with zeros what a damaged file only claims.
  const std::unique_ptr<uint8_t[]> pixels(new uint8_t[bytes]);
  const auto decode = features.has_alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (!decode(data, file.size(), pixels.get(), bytes, static_cast<int>(row))) damaged();
  image.values = std::vector<uint8_t>(pixels.get(), pixels.get() + bytes);
  if (const FileBytes exif = find_riff_chunk(file, "EXIF"); !exif.empty())
    image.orientation = orientation_in(exif);
  if (const FileBytes profile = find_riff_chunk(file, "ICCP"); profile.size() <= kMaxProfile)
    image.profile.assign(reinterpret_cast<const char*>(profile.data()), profile.size());
  return image;
}

}  // namespace mdsm::image
