// SVHN's cropped digits: MATLAB 5 files train_32x32.mat and test_32x32.mat with X (32x32x3xN bytes, column
// major) and y (labels 1 to 10, where 10 means the digit 0).
#include <matio.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <optional>

#include "core/error.h"
#include "core/open_file.h"
#include "data/idx.h"
#include "data/source.h"

namespace mdsm::data {
namespace {

constexpr int64_t kMaxSide = 4096;
constexpr int64_t kMaxImages = 5'000'000;  // SVHN has 630,420 with its extra part

struct CloseMat {
  void operator()(mat_t* mat) const { Mat_Close(mat); }
};
struct FreeVariable {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using Mat = std::unique_ptr<mat_t, CloseMat>;
using Variable = std::unique_ptr<matvar_t, FreeVariable>;

// The beginning of a top-level element, and its length; both after inflating it where it is compressed.
struct Element {
  std::vector<unsigned char> start;
  uint64_t bytes = 0;

  void add(const unsigned char* from, size_t count) {
    constexpr size_t kEnough = 256;
    start.insert(start.end(), from, from + std::min(count, kEnough - std::min(kEnough, start.size())));
    bytes += count;
  }
};

// Inflates the element that starts here: nothing unless it is whole and its checksum right.
std::optional<Element> inflated(std::ifstream& in, uint64_t bytes) {
  std::vector<unsigned char> from(1 << 16), to(1 << 18);
  Element found;
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  int code = Z_OK;
  while (code == Z_OK && bytes > 0) {
    const auto piece = std::min<uint64_t>(bytes, from.size());
    if (!in.read(reinterpret_cast<char*>(from.data()), static_cast<std::streamsize>(piece))) break;
    bytes -= piece;
    stream.next_in = from.data();
    stream.avail_in = static_cast<unsigned>(piece);
    do {
      stream.next_out = to.data();
      stream.avail_out = static_cast<unsigned>(to.size());
      code = inflate(&stream, Z_NO_FLUSH);
      found.add(to.data(), to.size() - stream.avail_out);
    } while (code == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    if (code == Z_BUF_ERROR) code = Z_OK;  // it only wants more input
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END) return std::nullopt;
  return found;
}

// An array of plain numbers, of which there are no more than the element has bytes, with a name of a sensible
// length. libmatio believes what it reads here, and makes every one of a million cells.
bool is_plain_array(const Element& element) {
  const auto word = [&](size_t at) {
    uint32_t value = 0;
    if (at + sizeof value <= element.start.size())
      std::memcpy(&value, element.start.data() + at, sizeof value);
    return value;
  };
  constexpr size_t kFlags = 8, kDimensions = 24, kExtents = 32;  // after the tag of the matrix
  constexpr uint32_t kMaxName = 63;
  const uint32_t kind = word(kFlags + 8) & 0xff, rank = word(kDimensions + 4) / 4;
  if (word(0) != MAT_T_MATRIX || word(kFlags) != MAT_T_UINT32 || word(kFlags + 4) != 8 ||
      word(kDimensions) != MAT_T_INT32 || kind < MAT_C_DOUBLE || kind > MAT_C_UINT64 || rank < 2 || rank > 8)
    return false;
  unsigned __int128 count = 1;
  for (uint32_t i = 0; i < rank; ++i) count *= word(kExtents + 4 * i);
  const size_t name = kExtents + (rank + rank % 2) * 4;  // of up to four letters: in the tag itself
  const bool short_name = word(name) >> 16 != 0;
  const bool sensible = short_name || (word(name) == MAT_T_INT8 && word(name + 4) <= kMaxName);
  return sensible && count <= element.bytes;
}

// libmatio fills what is missing with zeros and overlooks wrong checksums, so the file is checked first.
void check_elements(const fs::path& path) {
  const std::string name = path.string();
  std::ifstream in = open_file(path);
  char header[128];
  if (!in.read(header, sizeof header) || std::memcmp(header + 124, "\x00\x01IM", 4) != 0)
    fail("use the original file (MATLAB 5 format)", "{}: not a MATLAB 5 file", name);
  const uint64_t size = fs::file_size(path);
  for (uint64_t at = sizeof header; at < size;) {
    uint32_t tag[2] = {0, 0};
    in.seekg(static_cast<std::streamoff>(at));
    if (!in.read(reinterpret_cast<char*>(tag), sizeof tag) || tag[1] > size - at - sizeof tag)
      fail("use another copy of the file", "{}: the file ends too early", name);
    std::optional<Element> element;
    if (tag[0] == MAT_T_COMPRESSED) {
      element = inflated(in, tag[1]);
    } else if (tag[0] == MAT_T_MATRIX) {
      std::vector<unsigned char> start(std::min<uint64_t>(tag[1], 256));
      in.read(reinterpret_cast<char*>(start.data()), static_cast<std::streamsize>(start.size()));
      element.emplace();
      element->add(reinterpret_cast<const unsigned char*>(tag), sizeof tag);
      element->add(start.data(), start.size());
      element->bytes = sizeof tag + tag[1];
    }
    if (!element) fail("use another copy of the file", "{}: damaged data at byte {}", name, at);
    if (!is_plain_array(*element))
      fail("use the original file", "{}: no plain array of numbers at byte {}", name, at);
    at += sizeof tag + tag[1];
  }
}

Variable variable_info(mat_t* mat, const char* variable, const std::string& name) {
  Variable found(Mat_VarReadInfo(mat, variable));
  if (!found) fail("use the original file", "{}: has no variable {}", name, variable);
  return found;
}

void read_data(mat_t* mat, matvar_t& variable, const std::string& name) {
  if (Mat_VarReadDataAll(mat, &variable) != 0 || !variable.data || variable.isComplex)
    fail("use another copy of the file", "{}: the data of {} are damaged", name, variable.name);
}

Shape shape_of_x(const matvar_t& x, uint64_t file_bytes, const std::string& name) {
  if (x.class_type != MAT_C_UINT8 || x.rank != 4)
    fail("use the original file", "{}: X is no array of bytes with 4 dimensions", name);
  int64_t extents[4];
  for (int i = 0; i < 4; ++i) extents[i] = static_cast<int64_t>(std::min<size_t>(x.dims[i], size_t{1} << 40));
  const Shape shape{extents[3], extents[2], extents[0], extents[1]};
  const bool fine = shape.n >= 1 && shape.n <= kMaxImages && (shape.c == 1 || shape.c == 3) && shape.h >= 1 &&
                    shape.h <= kMaxSide && shape.w >= 1 && shape.w <= kMaxSide;
  if (!fine || shape.n > static_cast<int64_t>(file_bytes) * kMaxDeflateRatio / shape.per_image())
    fail("use another copy of the file", "{}: X is said to be {}x{}x{}x{}, which cannot be", name, extents[0],
         extents[1], extents[2], extents[3]);
  return shape;
}

std::vector<uint8_t> row_major(const uint8_t* x, const Shape& s) {
  std::vector<uint8_t> values(static_cast<size_t>(s.count()));
  uint8_t* out = values.data();
  for (int64_t plane = 0; plane < s.n * s.c; ++plane, x += s.h * s.w)
    for (int64_t row = 0; row < s.h; ++row)
      for (int64_t column = 0; column < s.w; ++column) *out++ = x[column * s.h + row];
  return values;
}

template <class T>
std::vector<double> numbers(const void* data, int64_t count) {
  const T* begin = static_cast<const T*>(data);
  return {begin, begin + count};
}

std::vector<double> numbers_of(const matvar_t& y, int64_t count, const std::string& name) {
  switch (y.class_type) {
    case MAT_C_UINT8:
      return numbers<uint8_t>(y.data, count);
    case MAT_C_INT32:
      return numbers<int32_t>(y.data, count);
    case MAT_C_SINGLE:
      return numbers<float>(y.data, count);
    case MAT_C_DOUBLE:
      return numbers<double>(y.data, count);
    default:
      fail("use the original file", "{}: y has values of an unexpected type", name);
  }
}

std::vector<int32_t> read_labels(mat_t* mat, int64_t images, int64_t wanted, const std::string& name) {
  const Variable y = variable_info(mat, "y", name);
  if (y->rank != 2 || std::min(y->dims[0], y->dims[1]) != 1 ||
      std::max(y->dims[0], y->dims[1]) != static_cast<size_t>(images))
    fail("use the original file", "{}: y does not hold one label for each of the {} images", name, images);
  read_data(mat, *y, name);
  std::vector<int32_t> labels;
  for (const double value : numbers_of(*y, images, name)) {
    if (!(value >= 0 && value <= 10))
      fail("use the original file", "{}: the label {} is none of 1 to 10", name, value);
    labels.push_back(static_cast<int32_t>(value) % 10);
  }
  labels.resize(static_cast<size_t>(wanted));
  return labels;
}

fs::path file_of(const SourceRequest& request) {
  if (!fs::is_directory(request.path)) return request.path;
  const fs::path path = request.path / (request.split() + "_32x32.mat");
  if (!fs::is_regular_file(path))
    fail("put it there, or name the .mat file itself", "{}: has no {}", request.path.string(),
         path.filename().string());
  return path;
}

bool is_svhn_folder(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "train_32x32.mat", error) ||
         fs::is_regular_file(folder / "test_32x32.mat", error);
}

RawImages read_svhn(const SourceRequest& request) {
  const fs::path path = file_of(request);
  const std::string name = path.string();
  check_elements(path);
  // libmatio would print its own lines to standard error. Its versions differ in whether a message is const.
  Mat_LogInitFunc("mdsm", [](int, auto) {});
  const Mat mat(Mat_Open(path.c_str(), MAT_ACC_RDONLY));
  if (!mat) fail("use another copy of the file", "{}: cannot be read as a MATLAB file", name);
  RawImages raw;
  raw.from = name;
  if (fs::is_directory(request.path)) raw.part = request.options.split;
  raw.classes = digit_names();
  {
    const Variable x = variable_info(mat.get(), "X", name);
    raw.shape = shape_of_x(*x, fs::file_size(path), name);
    const int64_t images = raw.shape.n;
    raw.shape.n = request.limited(images);
    // The labels first: they are few, and without them the pixels need not be read.
    raw.labels = read_labels(mat.get(), images, raw.shape.n, name);
    read_data(mat.get(), *x, name);
    raw.values = row_major(static_cast<const uint8_t*>(x->data), raw.shape);
  }
  return fit(std::move(raw), request.options);
}

}  // namespace

Source svhn_source() {
  return {.name = "svhn",
          .what = "99,289 RGB house number digits, 32x32, 10 classes",
          .how_to_get = "put train_32x32.mat and test_32x32.mat there (format 2, cropped digits)",
          .folder = "svhn",
          .files = "SVHN .mat",
          .recognises =
              [](const fs::path& path) {
                return is_folder(path) ? is_svhn_folder(path) : ends_with(path, {".mat"});
              },
          .read = read_svhn};
}

}  // namespace mdsm::data
