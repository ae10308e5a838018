#include "mend.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "io/safetensors.h"

namespace mdsm::fuzz {
namespace {

using Span = std::span<uint8_t>;

uint32_t checksum(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32(0, bytes.data(), static_cast<unsigned>(bytes.size())));
}

template <class T>
T number_at(Span file, size_t at) {  // little end first, as on this machine
  T value = 0;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

template <class T>
void put(Span file, size_t at, T value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

bool begins(Span file, size_t at, std::string_view text) {
  return at + text.size() <= file.size() && std::memcmp(file.data() + at, text.data(), text.size()) == 0;
}

// Chunks of a PNG file: the checksum covers type and body.
void mend_png(Span file) {
  if (file.size() < 8 || !begins(file, 0, "\x89PNG")) return;
  for (size_t at = 8; file.size() - at >= 12;) {
    const size_t length = __builtin_bswap32(number_at<uint32_t>(file, at));
    if (length > file.size() - at - 12) return;
    put(file, at + 8 + length, __builtin_bswap32(checksum(file.subspan(at + 4, length + 4))));
    at += 12 + length;
  }
}

// Entries of a zip file that are stored as they are: the directory's checksum is that of the bytes it points
// to.
void mend_zip(Span file) {
  for (size_t at = 0; at + 46 <= file.size(); ++at) {
    if (!begins(file, at, "PK\1\2") || number_at<uint16_t>(file, at + 10) != 0) continue;
    const size_t stored = number_at<uint32_t>(file, at + 20), local = number_at<uint32_t>(file, at + 42);
    if (local + 30 > file.size()) continue;
    const size_t begin =
        local + 30 + number_at<uint16_t>(file, local + 26) + number_at<uint16_t>(file, local + 28);
    if (begin > file.size() || stored > file.size() - begin) continue;
    put(file, at + 16, checksum(file.subspan(begin, stored)));
  }
}

// Headers of a tar file: the sum of their bytes in octal digits, where its own place counts as spaces.
void mend_tar(Span file) {
  constexpr size_t kBlock = 512, kPlace = 148, kDigits = 8;
  for (size_t at = 0; at + kBlock <= file.size(); at += kBlock) {
    if (!begins(file, at + 257, "ustar")) continue;
    const Span place = file.subspan(at + kPlace, kDigits);
    std::ranges::fill(place, ' ');
    unsigned sum = 0;
    for (const uint8_t byte : file.subspan(at, kBlock)) sum += byte;
    for (size_t i = 6; i-- > 0; sum /= 8) place[i] = static_cast<uint8_t>('0' + sum % 8);
    place[6] = 0;
  }
}

// A gzip file without a name in its head, as long as what it holds can be unpacked.
void mend_gzip(Span file) {
  constexpr size_t kHead = 10, kMost = 1 << 20;
  if (file.size() < kHead || !begins(file, 0, "\x1f\x8b\x08") || file[3] != 0) return;
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return;
  std::vector<uint8_t> out(kMost);
  stream.next_in = file.data() + kHead, stream.avail_in = static_cast<unsigned>(file.size() - kHead);
  stream.next_out = out.data(), stream.avail_out = kMost;
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in >= 8;
  const size_t end = file.size() - stream.avail_in;
  out.resize(kMost - stream.avail_out);
  inflateEnd(&stream);
  if (!whole) return;
  put(file, end, checksum(out));
  put(file, end + 4, static_cast<uint32_t>(out.size()));
}

// As in io/checked_safetensors.cpp: the corpus has files whose checksum make_corpus.py worked out.
std::string own_checksum(const io::SafetensorsFile& file) {
  Fingerprint sum;
  for (const auto& [key, value] : file.metadata())
    if (key != "checksum") sum.add(key), sum.add(value);
  std::vector<io::SafetensorsFile::Entry> entries = file.entries();
  std::ranges::stable_sort(entries, {}, [](const auto& entry) { return std::pair(entry.begin, entry.end); });
  for (const auto& entry : entries) {
    const std::vector<float> values = file.read(entry);
    sum.add(entry.name);
    sum.add(entry.shape.data(), entry.shape.size() * sizeof(int64_t));
    sum.add(values.data(), values.size() * sizeof(float));
  }
  return sum.text();
}

// Of a file that can be read and has one of the right length.
void mend_safetensors(Span file) {
  if (file.size() < 9 || file[8] != '{') return;
  try {
    const io::SafetensorsFile read("input", {reinterpret_cast<const char*>(file.data()), file.size()});
    const auto written = read.metadata().find("checksum");
    if (written == read.metadata().end()) return;
    const std::string right = own_checksum(read), before = '"' + written->second + '"';
    const auto place = std::search(file.begin(), file.end(), before.begin(), before.end());
    if (written->second.size() == right.size() && place != file.end()) std::ranges::copy(right, place + 1);
  } catch (const Error&) {
  }
}

}  // namespace

void mend(std::span<uint8_t> file) {
  mend_png(file);
  mend_zip(file);
  mend_tar(file);
  mend_gzip(file);
  mend_safetensors(file);
}

std::vector<std::byte> with_values(std::span<const std::byte> file) {
  constexpr uint64_t kMost = 1 << 20;
  std::vector<std::byte> whole(file.begin(), file.end());
  uint64_t length = 0, end = 0;
  if (file.size() < sizeof length) return whole;
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length) return whole;
  const auto head = parse_json({reinterpret_cast<const char*>(file.data()) + sizeof length, length});
  for (const auto& entry : head) {
    if (!entry.is_object() || !entry.contains("data_offsets")) continue;
    const auto& range = entry.at("data_offsets");
    if (range.is_array() && range.size() == 2 && range[1].is_number_unsigned())
      end = std::max(end, json_value<uint64_t>(range[1]));
  }
  whole.resize(std::max(whole.size(), sizeof length + length + std::min(end, kMost)));
  return whole;
}

}  // namespace mdsm::fuzz
