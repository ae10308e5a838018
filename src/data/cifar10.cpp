// CIFAR-10's binary version: records of one label byte and 3x32x32 bytes, in data_batch_1.bin ... 5.bin and
// test_batch.bin, in a folder or still in their tar archive.
#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

#include "core/error.h"
#include "data/source.h"

namespace mdsm::data {
namespace {

constexpr int64_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels;
constexpr int64_t kMaxFile = int64_t{1} << 32;
const char* const kFolder = "cifar-10-batches-bin";
const char* const kArchive = "cifar-10-binary.tar.gz";

using Bytes = std::vector<uint8_t>;

std::vector<std::string> batch_names(const SourceRequest& request) {
  if (request.test()) return {"test_batch.bin"};
  return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};
}

void append(RawImages& raw, const Bytes& file, const std::string& name, int64_t limit) {
  if (file.empty() || static_cast<int64_t>(file.size()) % kRecord != 0)
    fail("use another copy of the file", "{}: {} bytes are no whole number of CIFAR-10 records ({} bytes)",
         name, file.size(), kRecord);
  auto& values = std::get<Bytes>(raw.values);
  for (size_t at = 0; at < file.size() && raw.shape.n < limit; at += kRecord, ++raw.shape.n) {
    if (file[at] > 9)
      fail("check that it is CIFAR-10's binary version", "{}: record {} has the label {}", name,
           at / static_cast<size_t>(kRecord), file[at]);
    raw.labels.push_back(file[at]);
    values.insert(values.end(), file.begin() + static_cast<int64_t>(at) + 1,
                  file.begin() + static_cast<int64_t>(at) + kRecord);
  }
}

Bytes read_bin(const fs::path& path) {
  const auto bytes = read_bytes(path);
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  return {begin, begin + bytes.size()};
}

struct CloseArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};

[[noreturn]] void fail_archive(archive* a, const std::string& name) {
  const char* message = archive_error_string(a);
  fail("use another copy of the file", "{}: damaged archive: {}", name, message ? message : "unknown format");
}

Bytes read_entry(archive* a, const std::string& name) {
  Bytes content;
  for (;;) {
    const size_t before = content.size();
    constexpr size_t kPiece = 1 << 20;
    content.resize(before + kPiece);
    const la_ssize_t got = archive_read_data(a, content.data() + before, kPiece);
    if (got < 0) fail_archive(a, name);
    content.resize(before + static_cast<size_t>(got));
    if (got == 0) return content;
    if (static_cast<int64_t>(content.size()) > kMaxFile)
      fail("check that it is the right file", "{}: an entry of more than 4 GiB", name);
  }
}

// The wanted entries by file name, whatever folder of the archive they are in.
std::map<std::string, Bytes> read_archive(const fs::path& path, const std::vector<std::string>& wanted) {
  const std::string name = path.string();
  const std::unique_ptr<archive, CloseArchive> in(archive_read_new());
  archive_read_support_filter_all(in.get());
  archive_read_support_format_tar(in.get());
  if (archive_read_open_filename(in.get(), path.c_str(), 1 << 17) != ARCHIVE_OK) fail_archive(in.get(), name);
  std::map<std::string, Bytes> files;
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(in.get(), &entry)) == ARCHIVE_OK || code == ARCHIVE_WARN) {
    const char* entry_path = archive_entry_pathname(entry);
    const std::string file = entry_path ? fs::path(entry_path).filename().string() : "";
    if (std::find(wanted.begin(), wanted.end(), file) != wanted.end())
      files[file] = read_entry(in.get(), name);
  }
  if (code != ARCHIVE_EOF) fail_archive(in.get(), name);
  return files;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The folder with the .bin files, the archive, or one .bin file.
fs::path resolve(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  if (is_file(path / "data_batch_1.bin") || is_file(path / "test_batch.bin")) return path;
  if (is_folder(path / kFolder)) return path / kFolder;
  if (is_file(path / kArchive)) return path / kArchive;
  return path;
}

[[noreturn]] void fail_missing(const fs::path& where, const std::string& file) {
  fail("put data_batch_1.bin to data_batch_5.bin and test_batch.bin there, or name one .bin file",
       "{}: has no {}", where.string(), file);
}

bool is_cifar10_folder(const fs::path& folder) {
  return is_file(folder / "data_batch_1.bin") || is_file(folder / "test_batch.bin") ||
         is_folder(folder / kFolder) || is_file(folder / kArchive);
}

RawImages read_cifar10(const SourceRequest& request) {
  const fs::path path = resolve(request.path);
  RawImages raw;
  raw.shape = {0, 3, 32, 32};
  raw.values = Bytes();
  raw.classes = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  raw.from = path.string();
  if (path.extension() != ".bin" || fs::is_directory(path)) raw.part = request.split();
  const int64_t limit = request.limited(INT64_MAX);
  if (fs::is_directory(path)) {
    for (const auto& name : batch_names(request)) {
      if (!is_file(path / name)) fail_missing(path, name);
      append(raw, read_bin(path / name), (path / name).string(), limit);
    }
  } else if (path.extension() == ".bin") {
    append(raw, read_bin(path), path.string(), limit);
  } else {
    const auto names = batch_names(request);
    const auto files = read_archive(path, names);
    for (const auto& name : names) {
      if (!files.contains(name)) fail_missing(path, name);
      append(raw, files.at(name), path.string() + ": " + name, limit);
    }
  }
  return fit(std::move(raw), request.options);
}

}  // namespace

Source cifar10_source() {
  return {
      .name = "cifar10",
      .what = "60,000 RGB photographs, 32x32, 10 classes",
      .how_to_get =
          "put cifar-10-binary.tar.gz there (the binary version), or its data_batch_*.bin and test_batch.bin",
      .folder = "cifar10",
      .files = "CIFAR-10 .bin or .tar.gz",
      .recognises =
          [](const fs::path& path) {
            return is_folder(path) ? is_cifar10_folder(path)
                                   : ends_with(path, {".bin", ".tar", ".tar.gz", ".tgz"});
          },
      .read = read_cifar10};
}

}  // namespace mdsm::data
