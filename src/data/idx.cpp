// MNIST's idx files, plain or gzip: big-endian header (magic, extents), then bytes. The labels are read from
// the file beside the images when there is one. What the header claims is compared with what a file of its
// size can hold; one that is packed far better than images are is read twice, first without keeping it.
#include "data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/error.h"
#include "core/open_file.h"

namespace mdsm::data {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 31, kMaxExtent = 4096;
constexpr int64_t kMaxValues = int64_t{1} << 34;  // the 8.1 million digits of infinite MNIST have 2^32.6

// Reads gzip and plain files alike; zlib tells them apart by their first bytes.
class GzipReader {
 public:
  explicit GzipReader(const fs::path& path) : name_(path.string()), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) fail_opening(path, errno);
    gzbuffer(file_, 1 << 17);
  }
  ~GzipReader() { gzclose(file_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // At most `bytes`; fewer only at the end of the file. Memory grows with what is really there.
  std::vector<uint8_t> read(int64_t bytes) {
    std::vector<uint8_t> content;
    content.reserve(static_cast<size_t>(bytes));
    constexpr int64_t kPiece = 1 << 20;
    while (static_cast<int64_t>(content.size()) < bytes) {
      const size_t before = content.size();
      const auto piece =
          static_cast<unsigned>(std::min<int64_t>(kPiece, bytes - static_cast<int64_t>(before)));
      content.resize(before + piece);
      const int got = gzread(file_, content.data() + before, piece);
      check();
      content.resize(before + static_cast<size_t>(std::max(got, 0)));
      if (got < static_cast<int>(piece)) break;
    }
    return content;
  }

  // How many of the next `bytes` there are, without keeping them.
  int64_t skip(int64_t bytes) {
    std::vector<uint8_t> piece(1 << 18);
    int64_t skipped = 0;
    while (skipped < bytes) {
      const auto wanted = std::min<int64_t>(bytes - skipped, static_cast<int64_t>(piece.size()));
      const int got = gzread(file_, piece.data(), static_cast<unsigned>(wanted));
      check();
      if (got <= 0) break;
      skipped += got;
    }
    return skipped;
  }
  bool plain() { return gzdirect(file_) == 1; }

 private:
  void check() {
    int code = Z_OK;
    gzerror(file_, &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    fail("use another copy of the file", "{}: {}", name_,
         code == Z_BUF_ERROR ? "the gzip data ends too early" : "damaged gzip data");
  }

  std::string name_;
  gzFile file_;
};

struct IdxFile {
  std::vector<int64_t> extents;
  std::vector<uint8_t> values;
};

// The extents. Each is one that an image may have.
std::vector<int64_t> read_idx_header(GzipReader& in, size_t dimensions, const std::string& name) {
  const auto header = in.read(static_cast<int64_t>(4 + 4 * dimensions));
  if (header.size() < 4 + 4 * dimensions)
    fail("use another copy of the file", "{}: the file ends inside its idx header", name);
  if (header[0] != 0 || header[1] != 0 || header[2] != 8 || header[3] != dimensions)
    fail("check that it is the right file",
         "{}: not an idx file of bytes with {} dimension{} (magic {:02x}{:02x}{:02x}{:02x})", name,
         dimensions, dimensions == 1 ? "" : "s", header[0], header[1], header[2], header[3]);
  std::vector<int64_t> extents;
  for (size_t i = 0; i < dimensions; ++i) {
    const uint8_t* at = header.data() + 4 + 4 * i;
    extents.push_back(int64_t{at[0]} << 24 | at[1] << 16 | at[2] << 8 | at[3]);
  }
  for (size_t i = 1; i < dimensions; ++i)
    if (extents[i] < 1 || extents[i] > kMaxExtent)
      fail("check that it is the right file", "{}: images of {}x{} pixels", name, extents[1], extents[2]);
  if (extents[0] < 1 || extents[0] > kMaxCount)
    fail("check that it is the right file", "{}: the header says {} entries", name, extents[0]);
  return extents;
}

// limit: only so many entries of the first extent; 0 = all, and then the file must end there.
IdxFile read_idx_file(const fs::path& path, size_t dimensions, int64_t limit) {
  const std::string name = path.string();
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))  // a pipe cannot be read twice
    fail("copy it to a file first", "{}: is not a regular file", name);
  GzipReader in(path);
  IdxFile file{read_idx_header(in, dimensions, name), {}};
  int64_t item = 1;
  for (size_t i = 1; i < dimensions; ++i) item *= file.extents[i];
  const bool whole = limit <= 0 || limit >= file.extents[0];
  const int64_t wanted = whole ? file.extents[0] : limit, bytes = wanted * item;
  const auto check_held = [&](int64_t held) {
    if (held < bytes)
      fail("use another copy of the file", "{}: the header says {} entries, the file holds {}", name,
           file.extents[0], held / item);
  };
  const auto packed = static_cast<int64_t>(fs::file_size(path));
  if (in.plain()) check_held(packed - static_cast<int64_t>(4 + 4 * dimensions));
  if (bytes > kMaxValues || bytes / kMaxDeflateRatio > packed)
    fail("use another copy of the file, or --limit", "{}: the header says {} entries, too many for {} bytes",
         name, wanted, packed);
  if (packed_much(bytes, packed)) {
    GzipReader first(path);
    read_idx_header(first, dimensions, name);
    check_held(first.skip(bytes));
  }
  file.values = in.read(bytes);
  check_held(static_cast<int64_t>(file.values.size()));
  // One more byte also makes zlib compare the checksum at the end.
  if (whole && !in.read(1).empty())
    fail("use another copy of the file", "{}: the file goes on after its {} entries", name, file.extents[0]);
  file.extents[0] = wanted;
  return file;
}

// Both spellings in use, with a dash and with a dot, plain and compressed.
std::optional<fs::path> find_idx(const fs::path& folder, const std::string& stem, const std::string& kind) {
  for (const char* separator : {"-", "."})
    for (const char* end : {"", ".gz"}) {
      const fs::path path = folder / (stem + separator + kind + "-ubyte" + end);
      std::error_code error;
      if (fs::is_regular_file(path, error)) return path;
    }
  return std::nullopt;
}

fs::path images_file(const SourceRequest& request) {
  if (!fs::is_directory(request.path)) return request.path;
  const std::string stem = request.test() ? "t10k-images" : "train-images";
  if (const auto path = find_idx(request.path, stem, "idx3")) return *path;
  fail(fmt::format("put {}-idx3-ubyte or {}-idx3-ubyte.gz there", stem, stem),
       "{}: no {} images in this folder", request.path.string(), request.split());
}

std::optional<fs::path> labels_file(const fs::path& images) {
  const std::string name = images.filename().string();
  const size_t at = name.find("images");
  if (at == std::string::npos) return std::nullopt;
  return find_idx(images.parent_path(), name.substr(0, at) + "labels", "idx1");
}

// The first bytes decide what the name leaves open; zlib reads plain files as they are.
bool has_idx_magic(const fs::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return false;
  uint8_t magic[4] = {1, 1, 1, 1};
  const int got = gzread(file, magic, sizeof magic);
  gzclose(file);
  return got == 4 && magic[0] == 0 && magic[1] == 0 && magic[2] == 8 && magic[3] == 3;
}

}  // namespace

std::vector<std::string> digit_names() { return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; }

bool is_idx_folder(const fs::path& folder) {
  return find_idx(folder, "train-images", "idx3") || find_idx(folder, "t10k-images", "idx3");
}

RawImages read_idx_unfitted(const SourceRequest& request) {
  const fs::path path = images_file(request);
  IdxFile images = read_idx_file(path, 3, request.options.limit);
  RawImages raw;
  raw.shape = {images.extents[0], 1, images.extents[1], images.extents[2]};
  raw.values = std::move(images.values);
  raw.from = path.string();
  if (fs::is_directory(request.path)) raw.part = request.options.split;
  if (const auto beside = labels_file(path)) {
    const IdxFile labels = read_idx_file(*beside, 1, request.options.limit);
    if (labels.extents[0] != raw.shape.n)
      fail("use files that belong together", "{}: {} labels for {} images", beside->string(),
           labels.extents[0], raw.shape.n);
    raw.labels.assign(labels.values.begin(), labels.values.end());
    if (*std::max_element(labels.values.begin(), labels.values.end()) < 10) raw.classes = digit_names();
  }
  return raw;
}

RawImages read_idx(const SourceRequest& request) { return fit(read_idx_unfitted(request), request.options); }

Source idx_source() {
  return {.name = "idx",
          .what = "images in one file of MNIST's format",
          .files = "an idx file",
          .recognises =
              [](const fs::path& path) {
                return !is_folder(path) &&
                       (path.filename().string().find("idx3") != std::string::npos || has_idx_magic(path));
              },
          .read = read_idx};
}

}  // namespace mdsm::data
