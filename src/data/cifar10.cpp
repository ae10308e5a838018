// CIFAR-10's binary version: records of one label byte and 3x32x32 bytes, in data_batch_1.bin ... 5.bin and
// test_batch.bin, in a folder or still in their tar archive.
#include <algorithm>
#include <map>
#include <span>

#include "core/error.h"
#include "data/source.h"
#include "io/archive.h"

namespace mdsm::data {
namespace {

constexpr int64_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels;
constexpr size_t kMaxBatch =
    20'000 * kRecord;  // bytes of one file in an archive; CIFAR-10 has 10,000 records
const char* const kFolder = "cifar-10-batches-bin";
const char* const kArchive = "cifar-10-binary.tar.gz";

using Bytes = std::vector<uint8_t>;

std::vector<std::string> batch_names(const SourceRequest& request) {
  if (request.test()) return {"test_batch.bin"};
  return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"};
}

void append(RawImages& raw, std::span<const std::byte> bytes, const std::string& name, int64_t limit) {
  const std::span file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
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

// The wanted entries by file name, whatever folder of the archive they are in.
std::map<std::string, std::vector<std::byte>> read_entries(const fs::path& path,
                                                           const std::vector<std::string>& wanted) {
  io::ArchiveEntries entries;
  entries.largest = kMaxBatch;
  entries.name = [&](const std::string& entry) {
    const std::string file = fs::path(entry).filename().string();
    return std::ranges::find(wanted, file) != wanted.end() ? file : "";
  };
  return io::read_archive(path, entries);
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
  if (path.extension() != ".bin" || fs::is_directory(path)) raw.part = request.options.split;
  const int64_t limit = request.limited(INT64_MAX);
  if (fs::is_directory(path)) {
    for (const auto& name : batch_names(request)) {
      if (!is_file(path / name)) fail_missing(path, name);
      append(raw, read_bytes(path / name), (path / name).string(), limit);
    }
  } else if (path.extension() == ".bin") {
    append(raw, read_bytes(path), path.string(), limit);
  } else {
    const auto names = batch_names(request);
    const auto files = read_entries(path, names);
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
