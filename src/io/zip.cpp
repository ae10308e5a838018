#include "io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/error.h"

namespace mdsm::io {
namespace {

constexpr const char* kDamagedZip = "the file is damaged or cut short; copy it again";
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr size_t kAlignment = 64;

// Little-endian reads that never leave the file.
class Cursor {
 public:
  Cursor(Bytes bytes, uint64_t at, const std::string& where) : bytes_(bytes), at_(at), where_(where) {}

  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  Bytes take(uint64_t count) {
    if (at_ > bytes_.size() || count > bytes_.size() - at_)
      fail(kDamagedZip, "{}: the archive points beyond its end", where_);
    const Bytes taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  std::string text(uint64_t count) {
    const Bytes taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  uint64_t position() const { return at_; }

 private:
  Bytes bytes_;
  uint64_t at_;
  const std::string& where_;
};

struct Directory {
  uint64_t entries = 0, offset = 0;
};

struct CentralEntry {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t checksum = 0;
  uint64_t stored = 0, size = 0, local = 0;
};

// The end record is the last thing in the file but for a comment of at most 65535 bytes.
std::optional<uint64_t> find_end(Bytes file) {
  constexpr uint64_t kEndBytes = 22;
  if (file.size() < kEndBytes) return std::nullopt;
  const uint64_t last = file.size() - kEndBytes, first = last > 0xffff ? last - 0xffff : 0;
  for (uint64_t at = last + 1; at-- > first;)
    if (std::memcmp(file.data() + at, &kEnd, sizeof kEnd) == 0) return at;
  return std::nullopt;
}

Directory find_directory(Bytes file, const std::string& where) {
  const auto end = find_end(file);
  if (!end) fail(kDamagedZip, "{}: the archive has no directory", where);
  Cursor cursor(file, *end + 10, where);
  Directory directory;
  directory.entries = cursor.take<uint16_t>();
  cursor.take<uint32_t>();
  directory.offset = cursor.take<uint32_t>();
  if (directory.entries != 0xffff && directory.offset != 0xffffffff) return directory;
  if (*end < 20) return directory;
  Cursor locator(file, *end - 20, where);  // sizes beyond the old fields: the zip64 records
  if (locator.take<uint32_t>() != kLocator64) return directory;
  locator.take<uint32_t>();
  Cursor end64(file, locator.take<uint64_t>(), where);
  if (end64.take<uint32_t>() != kEnd64) fail(kDamagedZip, "{}: the archive's directory is broken", where);
  end64.take(28);
  directory.entries = end64.take<uint64_t>();
  end64.take<uint64_t>();
  directory.offset = end64.take<uint64_t>();
  return directory;
}

// The zip64 extra field holds, in this order, those of size, stored size and offset that did not fit.
void apply_zip64(CentralEntry& entry, Bytes extra, const std::string& where) {
  Cursor cursor(extra, 0, where);
  while (extra.size() - cursor.position() >= 4) {
    const auto id = cursor.take<uint16_t>(), size = cursor.take<uint16_t>();
    const Bytes field = cursor.take(size);
    if (id != 1) continue;
    Cursor values(field, 0, where);
    for (uint64_t* value : {&entry.size, &entry.stored, &entry.local})
      if (*value == 0xffffffff) *value = values.take<uint64_t>();
  }
}

CentralEntry read_central(Cursor& cursor, const std::string& where) {
  if (cursor.take<uint32_t>() != kCentral) fail(kDamagedZip, "{}: the archive's directory is broken", where);
  CentralEntry entry;
  cursor.take(4);
  entry.flags = cursor.take<uint16_t>();
  entry.method = cursor.take<uint16_t>();
  cursor.take(4);
  entry.checksum = cursor.take<uint32_t>();
  entry.stored = cursor.take<uint32_t>();
  entry.size = cursor.take<uint32_t>();
  const auto name = cursor.take<uint16_t>(), extra = cursor.take<uint16_t>(),
             comment = cursor.take<uint16_t>();
  cursor.take(8);
  entry.local = cursor.take<uint32_t>();
  entry.name = cursor.text(name);
  apply_zip64(entry, cursor.take(extra), where);
  cursor.take(comment);
  return entry;
}

uint32_t checksum(Bytes content) {
  return static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

Bytes read_content(Bytes file, const CentralEntry& entry, const std::string& where) {
  if (entry.flags & 1) fail("save it without a password", "{}: entry '{}' is encrypted", where, entry.name);
  if (entry.method != 0 || entry.stored != entry.size)
    fail("save it again with torch.save", "{}: entry '{}' is compressed", where, entry.name);
  Cursor local(file, entry.local, where);
  if (local.take<uint32_t>() != kLocal)
    fail(kDamagedZip, "{}: entry '{}' is not where it should be", where, entry.name);
  local.take(22);
  const auto name = local.take<uint16_t>(), extra = local.take<uint16_t>();
  local.take(name);
  local.take(extra);
  const Bytes content = local.take(entry.size);
  if (checksum(content) != entry.checksum)
    fail(kDamagedZip, "{}: the checksum of entry '{}' does not fit", where, entry.name);
  return content;
}

template <class... Values>
std::string packed(Values... values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  return bytes;
}

}  // namespace

std::map<std::string, Bytes> read_zip(Bytes file, const std::string& where) {
  const Directory directory = find_directory(file, where);
  Cursor cursor(file, directory.offset, where);
  std::map<std::string, Bytes> contents;
  uint64_t total = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    const CentralEntry entry = read_central(cursor, where);
    // Entries that share bytes would let a small file cost much work.
    if (entry.size > file.size() || (total += entry.size) > file.size())
      fail(kDamagedZip, "{}: the archive's entries are larger than the file", where);
    if (!contents.emplace(entry.name, read_content(file, entry, where)).second)
      fail(kDamagedZip, "{}: entry '{}' appears twice", where, entry.name);
  }
  return contents;
}

void ZipWriter::write(const std::string& bytes) {
  file_.write(bytes);
  position_ += bytes.size();
}

void ZipWriter::add(const std::string& name, Bytes content) {
  constexpr uint64_t kLimit = 0xfffffff0;  // what the fields of a plain zip archive can hold
  if (position_ + content.size() + 1024 > kLimit || entries_ == 0xfffe)
    fail("keep the safetensors file", "the archive would be larger than 4 GB, which it cannot be");
  const uint16_t version = 20, flags = 0x0800, stored = 0, time = 0, date = 0x21;  // UTF-8; 1 January 1980
  const auto size = static_cast<uint32_t>(content.size()), local = static_cast<uint32_t>(position_);
  const auto name_size = static_cast<uint16_t>(name.size());
  const uint32_t crc = checksum(content);
  const size_t header = 30 + name.size() + 4;  // and the extra field ("FB", as PyTorch) that fills up
  const auto fill = static_cast<uint16_t>((kAlignment - (position_ + header) % kAlignment) % kAlignment);
  write(packed(kLocal, version, flags, stored, time, date, crc, size, size, name_size, uint16_t(fill + 4)) +
        name + "FB" + packed(fill) + std::string(fill, 'Z'));
  file_.write(content.data(), content.size());
  position_ += content.size();
  directory_ += packed(kCentral, version, version, flags, stored, time, date, crc, size, size, name_size,
                       uint16_t(0), uint16_t(0), uint16_t(0), uint16_t(0), uint32_t(0), local) +
                name;
  ++entries_;
}

void ZipWriter::finish() {
  const auto offset = static_cast<uint32_t>(position_), size = static_cast<uint32_t>(directory_.size());
  write(directory_);
  write(packed(kEnd, uint16_t(0), uint16_t(0), entries_, entries_, size, offset, uint16_t(0)));
}

}  // namespace mdsm::io
