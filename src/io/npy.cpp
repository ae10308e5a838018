// The header of an .npy file is a Python dictionary literal with three keys. The reader below takes that
// literal and nothing else; sizes are checked against the file before memory is asked for.
#include "io/npy.h"

#include <array>
#include <bit>
#include <type_traits>

#include "core/error.h"
#include "core/open_file.h"

namespace mdsm::io {
namespace {

static_assert(std::endian::native == std::endian::little,
              ".npy files are read and written as they lie in memory");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint32_t kMaxHeader = 1 << 16;

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header parse() {
    Header header;
    int keys = 0;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && peek() == '\'')
        header.descr = quoted();
      else if (key == "fortran_order")
        header.fortran_order = truth();
      else if (key == "shape")
        header.shape = tuple();
      else
        bad();
      ++keys;
      if (!accept(',') && peek() != '}') bad();
    }
    if (keys != 3 || header.descr.empty()) bad();
    return header;
  }

 private:
  [[noreturn]] void bad() const {
    fail("save it with numpy.save as one plain array", "{}: the .npy header is not understood near byte {}",
         name_, at_);
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad();
  }
  std::string quoted() {
    expect('\'');
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) bad();
    const std::string word(text_.substr(at_, end - at_));
    at_ = end + 1;
    return word;
  }
  bool truth() {
    peek();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    bad();
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!accept(')')) {
      if (peek() < '0' || peek() > '9') bad();
      int64_t value = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (value > (int64_t{1} << 55)) bad();
        value = value * 10 + (text_[at_] - '0');
      }
      values.push_back(value);
      if (!accept(',') && peek() != ')') bad();
    }
    return values;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

// left: the file's bytes; those behind the header afterwards.
std::string read_header_text(std::istream& in, uint64_t& left, const std::string& name) {
  std::array<char, 8> start{};
  if (!in.read(start.data(), start.size()) || std::string_view(start.data(), 6) != kMagic)
    fail("save it with numpy.save", "{}: not an .npy file", name);
  const int major = start[6];
  if (major < 1 || major > 3)
    fail("save it with numpy.save", "{}: .npy format version {} is not known", name, major);
  uint32_t length = 0;
  in.read(reinterpret_cast<char*>(&length), major == 1 ? 2 : 4);
  if (in && length > kMaxHeader)
    fail("use another copy of the file", "{}: a header of {} bytes", name, length);
  std::string text(length, '\0');
  if (!in || !in.read(text.data(), length))
    fail("use another copy of the file", "{}: the file ends inside its header", name);
  left -= std::min<uint64_t>(left, start.size() + (major == 1 ? 2 : 4) + length);
  return text;
}

void check_order(const Header& header, const std::string& name) {
  if (header.fortran_order)
    fail("save numpy.ascontiguousarray of it", "{}: the array is in Fortran order", name);
}

size_t item_size(const Header& header, const std::string& name) {
  check_order(header, name);
  if (header.descr == "|u1" || header.descr == "<u1" || header.descr == "u1") return 1;
  if (header.descr == "<f4") return 4;
  if (header.descr == "<f8") return 8;
  fail("convert it to uint8 or float32", "{}: values of type '{}' are not read", name, header.descr);
}

// Number of values; equal to what the file holds, so that nothing absurd is allocated.
size_t checked_count(const Header& header, size_t item, uint64_t bytes, const std::string& name) {
  unsigned __int128 count = 1;
  for (const int64_t extent : header.shape) {
    count *= static_cast<uint64_t>(extent);
    if (count > bytes) break;
  }
  bool empty = false;
  for (const int64_t extent : header.shape) empty |= extent == 0;
  if (empty) count = 0;
  if (count * item != bytes)
    fail("use another copy of the file",
         "{}: the header says ({}) values of {} bytes, the file holds {} bytes", name,
         fmt::join(header.shape, ", "), item, bytes);
  return static_cast<size_t>(count);
}

// In pieces: memory follows what is there, and values of another type never lie in it as a whole.
template <class T, class Stored = T>
std::vector<T> read_values(std::istream& in, size_t count, const std::string& name) {
  constexpr size_t kPiece = 1 << 16;
  std::vector<T> values;
  std::vector<Stored> piece;
  values.reserve(count);
  while (values.size() < count) {
    piece.resize(std::min(count - values.size(), kPiece));
    if (!in.read(reinterpret_cast<char*>(piece.data()),
                 static_cast<std::streamsize>(piece.size() * sizeof(Stored))))
      fail("use another copy of the file", "{}: the file ends after {} of {} values", name,
           values.size() + static_cast<size_t>(in.gcount()) / sizeof(Stored), count);
    if constexpr (std::is_same_v<T, Stored>)
      values.insert(values.end(), piece.begin(), piece.end());
    else
      for (const Stored value : piece) values.push_back(static_cast<T>(value));
  }
  return values;
}

// Everything before the values.
std::string header_bytes(const std::string& name, const char* descr, const std::vector<int64_t>& shape,
                         size_t count) {
  int64_t expected = 1;
  for (const int64_t extent : shape) expected *= extent;
  if (expected != static_cast<int64_t>(count))
    fail("give as many values as the shape has", "{}: {} values for the shape ({})", name, count,
         fmt::join(shape, ", "));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr size_t kPrefix = 10, kAlign = 64;
  header.append(kAlign - 1 - (kPrefix + header.size()) % kAlign, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string start(kMagic);
  start.append("\x01\x00", 2);
  start.append(reinterpret_cast<const char*>(&length), sizeof length);
  return start + header;
}

void write_array(const fs::path& path, const char* descr, const std::vector<int64_t>& shape,
                 const void* values, size_t count, size_t item) {
  const std::string header = header_bytes(path.string(), descr, shape, count);
  AtomicFile file(path);
  file.write(header);
  file.write(values, count * item);
  file.commit();
}

// A stream over bytes that somebody else keeps.
class MemoryBuffer : public std::streambuf {
 public:
  explicit MemoryBuffer(std::span<const std::byte> bytes) {
    char* begin = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    setg(begin, begin, begin + bytes.size());
  }
};

template <class T>
std::string bytes_of_array(const char* descr, const std::vector<int64_t>& shape, std::span<const T> values) {
  std::string bytes = header_bytes("the array", descr, shape, values.size());
  return bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

}  // namespace

void check_npy(std::istream& in, uint64_t bytes, const std::string& name) {
  const std::string text = read_header_text(in, bytes, name);
  const Header header = HeaderParser(text, name).parse();
  checked_count(header, item_size(header, name), bytes, name);
  in.ignore(static_cast<std::streamsize>(bytes));
  if (static_cast<uint64_t>(in.gcount()) < bytes)
    fail("use another copy of the file", "{}: the file ends after {} of {} bytes", name, in.gcount(), bytes);
}

NpyArray read_npy(std::istream& in, uint64_t bytes, const std::string& name) {
  const std::string text = read_header_text(in, bytes, name);
  const Header header = HeaderParser(text, name).parse();
  const size_t item = item_size(header, name);
  const size_t count = checked_count(header, item, bytes, name);
  NpyArray array{header.shape, {}};
  if (item == 1)
    array.values = read_values<uint8_t>(in, count, name);
  else
    array.values =
        item == 4 ? read_values<float>(in, count, name) : read_values<float, double>(in, count, name);
  return array;
}

NpyArray read_npy(const fs::path& path) {
  const std::string name = path.string();
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    fail("check the path", "{}: {}", name, fs::exists(path, error) ? "not a plain file" : "no such file");
  std::ifstream in = open_file(path);
  return read_npy(in, fs::file_size(path), name);
}

void write_npy(const fs::path& path, const std::vector<int64_t>& shape, std::span<const float> values) {
  write_array(path, "<f4", shape, values.data(), values.size(), sizeof(float));
}

void write_npy(const fs::path& path, const std::vector<int64_t>& shape, std::span<const uint8_t> values) {
  write_array(path, "|u1", shape, values.data(), values.size(), 1);
}

NpyDoubles parse_npy(std::span<const std::byte> file, const std::string& name) {
  MemoryBuffer buffer(file);
  std::istream in(&buffer);
  return read_npy_doubles(in, file.size(), file.size(), name);
}

NpyDoubles read_npy_doubles(std::istream& in, uint64_t bytes, uint64_t most, const std::string& name) {
  const std::string text = read_header_text(in, bytes, name);
  const Header header = HeaderParser(text, name).parse();
  const auto read_as = [&](auto kind) {
    using T = decltype(kind);
    check_order(header, name);
    const size_t count = checked_count(header, sizeof(T), bytes, name);
    if (count > most)
      fail("check that it is the right file", "{}: {} values, {} at most are expected", name, count, most);
    return NpyDoubles{header.shape, read_values<double, T>(in, count, name)};
  };
  const std::string& type = header.descr;
  if (type == "<f8") return read_as(double{});
  if (type == "<f4") return read_as(float{});
  if (type == "<i8") return read_as(int64_t{});
  if (type == "<u8") return read_as(uint64_t{});
  if (type == "<i4") return read_as(int32_t{});
  if (type == "<u4") return read_as(uint32_t{});
  if (type == "<i2") return read_as(int16_t{});
  if (type == "<u2") return read_as(uint16_t{});
  if (type == "|i1") return read_as(int8_t{});
  if (type == "|u1") return read_as(uint8_t{});
  fail("convert it to float64", "{}: values of type '{}' are not read", name, type);
}

std::string npy_bytes(const std::vector<int64_t>& shape, std::span<const double> values) {
  return bytes_of_array("<f8", shape, values);
}
std::string npy_bytes(const std::vector<int64_t>& shape, std::span<const uint8_t> values) {
  return bytes_of_array("|u1", shape, values);
}
std::string npy_bytes(const std::vector<int64_t>& shape, std::span<const int64_t> values) {
  return bytes_of_array("<i8", shape, values);
}

}  // namespace mdsm::io
