// The chunks of an animated PNG: acTL counts the frames, fcTL precedes each one, the first frame is the
// ordinary IDAT and the others are fdAT. fcTL and fdAT share one numbering.
#include "image/animation.h"

#include <zlib.h>

#include <new>

#include "core/error.h"
#include "image/codecs.h"

namespace mdsm::image {
namespace {

using Bytes = std::vector<uint8_t>;

void put(Bytes& out, uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<uint8_t>(value >> shift));
}

void put_chunk(Bytes& file, const char* kind, const Bytes& body) {
  put(file, body.size(), 4);
  const size_t start = file.size();
  file.insert(file.end(), kind, kind + 4);
  file.insert(file.end(), body.begin(), body.end());
  put(file, crc32(0, file.data() + start, static_cast<uInt>(file.size() - start)), 4);
}

// Every row starts with its filter; 2 is the difference from the row above, which smooth images like.
Bytes compressed(const Image& image, const fs::path& path) {
  const auto row_bytes = static_cast<size_t>(image.width * image.channels);
  Bytes rows;
  rows.reserve((row_bytes + 1) * static_cast<size_t>(image.height));
  for (int64_t y = 0; y < image.height; ++y) {
    rows.push_back(y > 0 ? 2 : 0);
    for (size_t i = 0; i < row_bytes; ++i)
      rows.push_back(static_cast<uint8_t>(image.row(y)[i] - (y > 0 ? image.row(y - 1)[i] : 0)));
  }
  uLongf length = compressBound(rows.size());
  Bytes out(length);
  if (compress2(out.data(), &length, rows.data(), rows.size(), 9) != Z_OK)
    fail("free some memory", "{}: cannot be compressed", path.string());
  out.resize(length);
  return out;
}

Bytes header(const Image& image) {
  Bytes body;
  put(body, static_cast<uint64_t>(image.width), 4);
  put(body, static_cast<uint64_t>(image.height), 4);
  for (const int value : {8, image.channels == 3 ? 2 : 0, 0, 0, 0})
    put(body, static_cast<uint64_t>(value), 1);
  return body;
}

Bytes frame_control(const Image& image, uint32_t number, int64_t delay_ms) {
  Bytes body;
  put(body, number, 4);
  put(body, static_cast<uint64_t>(image.width), 4);
  put(body, static_cast<uint64_t>(image.height), 4);
  put(body, 0, 8);  // at the left and the top
  put(body, static_cast<uint64_t>(delay_ms), 2);
  put(body, 1000, 2);  // of a second
  put(body, 0, 2);     // stays until the next one replaces it
  return body;
}

void check(std::span<const Image> frames, int64_t delay_ms, int64_t hold_ms, const fs::path& path) {
  if (frames.empty()) fail("give at least one frame", "{}: an animation of no frames", path.string());
  for (const int64_t delay : {delay_ms, hold_ms})
    if (delay < 1 || delay > 65535)
      fail("use 1 to 65535", "{}: a frame cannot be shown for {} ms", path.string(), delay);
  const Image& first = frames.front();
  check_image_size(first.width, first.height, first.channels, path.string());
  for (const Image& frame : frames)
    if (frame.width != first.width || frame.height != first.height || frame.channels != first.channels)
      fail("make all frames alike", "{}: a frame of {}x{}x{} after one of {}x{}x{}", path.string(),
           frame.width, frame.height, frame.channels, first.width, first.height, first.channels);
}

}  // namespace

void write_animation(const fs::path& path, std::span<const Image> frames, int64_t delay_ms, int64_t hold_ms) {
  check(frames, delay_ms, hold_ms, path);
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, count;
  put(count, frames.size(), 4);
  put(count, 0, 4);  // without end
  put_chunk(file, "IHDR", header(frames.front()));
  put_chunk(file, "acTL", count);
  uint32_t number = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    put_chunk(file, "fcTL", frame_control(frames[i], number++, i + 1 < frames.size() ? delay_ms : hold_ms));
    const Bytes pixels = compressed(frames[i], path);
    if (i == 0) {
      put_chunk(file, "IDAT", pixels);
      continue;
    }
    Bytes body;
    put(body, number++, 4);
    body.insert(body.end(), pixels.begin(), pixels.end());
    put_chunk(file, "fdAT", body);
  }
  put_chunk(file, "IEND", {});
  write_file(path, std::as_bytes(std::span(file)));
}

}  // namespace mdsm::image
