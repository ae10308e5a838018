#include "train/tfevents.h"

#include <array>
#include <bit>
#include <cmath>

#include "core/error.h"

namespace mdsm::train {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0x82f63b78u : 0u);
    table[byte] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

// TFRecord stores checksums rotated and shifted, so that a checksum of checksums stays meaningful.
uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return bytes;
}

// Protocol buffers: a field is its number and wire kind, then a varint, 8 bytes, a length and bytes, or 4.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string key(uint32_t field, Wire wire) { return varint(field << 3 | wire); }
std::string field_bytes(uint32_t field, std::string_view bytes) {
  return key(field, kBytes) + varint(bytes.size()) + std::string(bytes);
}
std::string field_number(uint32_t field, uint64_t value) { return key(field, kVarint) + varint(value); }
std::string field_float(uint32_t field, double value) {
  return key(field, kFixed32) + little_endian(std::bit_cast<uint32_t>(static_cast<float>(value)));
}

// Summary.Image: height 1, width 2, colorspace 3 (channels), encoded_image_string 4. A PNG file has its size
// and its kind of colours at fixed places of its first chunk.
std::string picture_message(std::string_view png) {
  constexpr size_t kWidth = 16, kHeight = 20, kColours = 25;
  if (png.size() <= kColours) throw std::logic_error("not a PNG file");
  const auto byte = [&](size_t at) { return static_cast<uint64_t>(static_cast<uint8_t>(png[at])); };
  const auto number = [&](size_t at) {
    return byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
  };
  const bool grey = byte(kColours) == 0;
  return field_number(1, number(kHeight)) + field_number(2, number(kWidth)) + field_number(3, grey ? 1 : 3) +
         field_bytes(4, png);
}

// Event: wall_time 1 (double), step 2 (int64), then one of file_version 3, summary 5, session_log 7.
std::string event(double time, int64_t step, const std::string& what) {
  return key(1, kFixed64) + little_endian(std::bit_cast<uint64_t>(time)) + key(2, kVarint) +
         varint(static_cast<uint64_t>(step)) + what;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = 0xffffffffu;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::string tfrecord(std::string_view payload) {
  const std::string length = little_endian(static_cast<uint64_t>(payload.size()));
  return length + little_endian(masked(crc32c(length))) + std::string(payload) +
         little_endian(masked(crc32c(payload)));
}

EventFile::EventFile(const fs::path& folder, double time, int64_t first_step)
    : file_(folder / fmt::format("events.out.tfevents.{:010.0f}.mdsm.{:07}", std::floor(time), first_step)) {
  file_.append(tfrecord(event(time, 0, field_bytes(3, "brain.Event:2"))));
  // SessionLog{status: START} at a step makes readers forget everything from that step on.
  if (first_step > 0)
    file_.append(tfrecord(event(time, first_step + 1, field_bytes(7, key(1, kVarint) + varint(1)))));
}

void EventFile::add(double time, int64_t step, const Scalars& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars)
    if (std::isfinite(value)) summary += field_bytes(1, field_bytes(1, tag) + field_float(2, value));
  file_.append(tfrecord(event(time, step, field_bytes(5, summary))));
}

void EventFile::add_picture(double time, int64_t step, std::string_view tag, std::string_view png) {
  const std::string value = field_bytes(1, tag) + field_bytes(4, picture_message(png));
  file_.append(tfrecord(event(time, step, field_bytes(5, field_bytes(1, value)))));
}

}  // namespace mdsm::train
