// CIFAR-10 and CIFAR-100 as their authors distribute them: the binary version (records of labels and 3x32x32
// bytes, *.bin) and the Python version (pickles), in a folder or still in their archive.
#include <algorithm>
#include <map>

#include "core/error.h"
#include "data/cifar_pickle.h"
#include "data/source.h"
#include "io/archive.h"

namespace mdsm::data {
namespace {

constexpr int64_t kPixels = 3 * 32 * 32;
// Bytes of one file in an archive: an image with its labels, and in a pickle its name; and what is around
// them.
constexpr size_t kMaxPerImage = 3200, kMaxAround = 1 << 16;

using Bytes = std::vector<uint8_t>;

// What the two sets differ in. Files of the binary version have ".bin" behind the names below.
struct Layout {
  const char* name;
  std::vector<std::string> train, test;
  std::vector<std::string> folders, archives;  // as they are distributed
  size_t label_bytes;                          // of a record; the last one is the class
  int64_t classes;
  size_t largest;                        // images in a file
  const char* label_key;                 // in a pickle
  std::string meta, names_key;           // file that holds the names of the classes
  std::vector<std::string> class_names;  // where no such file has to be read

  const std::vector<std::string>& files(const SourceRequest& request) const {
    return request.test() ? test : train;
  }
  int64_t record() const { return static_cast<int64_t>(label_bytes) + kPixels; }
  size_t largest_file() const { return largest * kMaxPerImage + kMaxAround; }
};

const Layout& cifar10() {
  static const Layout layout = {
      "CIFAR-10",
      {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
      {"test_batch"},
      {"cifar-10-batches-bin", "cifar-10-batches-py"},
      {"cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"},
      1,
      10,
      10'000,
      "labels",
      "",
      "",
      {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}};
  return layout;
}

const Layout& cifar100() {
  static const Layout layout = {"CIFAR-100",
                                {"train"},
                                {"test"},
                                {"cifar-100-binary", "cifar-100-python"},
                                {"cifar-100-binary.tar.gz", "cifar-100-python.tar.gz"},
                                2,
                                100,
                                50'000,
                                "fine_labels",
                                "meta",
                                "fine_label_names",
                                {}};
  return layout;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_binary(const fs::path& file) { return file.extension() == ".bin"; }

RawImages empty_set() {
  RawImages raw;
  raw.shape = {0, 3, 32, 32};
  raw.values = Bytes();
  return raw;
}

void append_records(RawImages& raw, std::span<const std::byte> bytes, const Layout& layout,
                    const std::string& name) {
  const std::span file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (file.empty() || static_cast<int64_t>(file.size()) % layout.record() != 0)
    fail("use another copy of the file", "{}: {} bytes are no whole number of {} records ({} bytes)", name,
         file.size(), layout.name, layout.record());
  auto& values = std::get<Bytes>(raw.values);
  values.reserve(values.size() + file.size());
  for (size_t at = 0; at < file.size(); at += static_cast<size_t>(layout.record())) {
    const uint8_t label = file[at + layout.label_bytes - 1];
    if (label >= layout.classes)
      fail(fmt::format("check that it is {}'s binary version", layout.name), "{}: record {} has the label {}",
           name, at / static_cast<size_t>(layout.record()), label);
    raw.labels.push_back(label);
    const auto pixels = file.subspan(at + layout.label_bytes, kPixels);
    values.insert(values.end(), pixels.begin(), pixels.end());
  }
}

void append_pickle(RawImages& raw, std::span<const std::byte> bytes, const Layout& layout,
                   const std::string& name) {
  const CifarBatch batch = read_cifar_pickle(bytes, layout.label_key, layout.classes, name);
  auto& values = std::get<Bytes>(raw.values);
  values.insert(values.end(), batch.pixels.begin(), batch.pixels.end());
  raw.labels.insert(raw.labels.end(), batch.labels.begin(), batch.labels.end());
}

void append(RawImages& raw, std::span<const std::byte> bytes, const Layout& layout, const fs::path& file,
            const std::string& name) {
  if (is_binary(file))
    append_records(raw, bytes, layout, name);
  else
    append_pickle(raw, bytes, layout, name);
  raw.shape.n = static_cast<int64_t>(raw.labels.size());
}

void join(RawImages& raw, RawImages more) {
  auto &values = std::get<Bytes>(raw.values), &added = std::get<Bytes>(more.values);
  if (values.empty())
    values = std::move(added);
  else
    values.insert(values.end(), added.begin(), added.end());
  raw.labels.insert(raw.labels.end(), more.labels.begin(), more.labels.end());
  raw.shape.n += more.shape.n;
}

void cut(RawImages& raw, int64_t count) {
  raw.shape.n = count;
  raw.labels.resize(static_cast<size_t>(count));
  std::get<Bytes>(raw.values).resize(static_cast<size_t>(count * kPixels));
}

// Whether the folder itself holds any of the set's files.
bool holds(const fs::path& folder, const Layout& layout) {
  for (const char* end : {".bin", ""})
    for (const auto* names : {&layout.train, &layout.test})
      for (const std::string& name : *names)
        if (is_file(folder / (name + end)) && (layout.meta.empty() || *end || is_file(folder / layout.meta)))
          return true;
  return false;
}

// The folder with the files, or the archive, that a folder leads to.
fs::path resolve(const fs::path& path, const Layout& layout) {
  if (!fs::is_directory(path) || holds(path, layout)) return path;
  for (const std::string& folder : layout.folders)
    if (is_folder(path / folder)) return path / folder;
  for (const std::string& archive : layout.archives)
    if (is_file(path / archive)) return path / archive;
  return path;
}

bool is_set_folder(const fs::path& folder, const Layout& layout) {
  return holds(folder, layout) || resolve(folder, layout) != folder;
}

// A few names, as far as the files before them could be of the set.
std::vector<fs::path> first_files(const fs::path& path, const Layout& layout) {
  constexpr size_t kFirst = 3;
  std::vector<fs::path> files;
  try {
    for (io::ArchiveMembers members(path); files.size() < kFirst && members.next();) {
      files.emplace_back(members.path());
      if (members.size() > layout.largest_file()) break;
    }
  } catch (const Error&) {
    files.clear();  // whoever reads it says what is wrong
  }
  return files;
}

// "cifar-10-python.tar.gz" by another name, too: the first files in it tell.
bool is_set_archive(const fs::path& path, const Layout& layout) {
  if (!ends_with(path, {".tar", ".tar.gz", ".tgz"})) return false;
  for (const fs::path& file : first_files(path, layout)) {
    const std::string stem = is_binary(file) ? file.stem().string() : file.filename().string();
    const bool named = std::ranges::find(layout.train, stem) != layout.train.end() ||
                       std::ranges::find(layout.test, stem) != layout.test.end();
    const bool placed =
        std::ranges::find(layout.folders, file.parent_path().filename().string()) != layout.folders.end();
    if (placed || (named && layout.meta.empty())) return true;
  }
  return false;
}

[[noreturn]] void fail_missing(const fs::path& where, const Layout& layout, const std::string& file) {
  if (layout.meta.empty())
    fail(
        "put data_batch_1.bin to data_batch_5.bin and test_batch.bin there (or those of the Python version, "
        "without "
        ".bin), or name one of them",
        "{}: has no {}", where.string(), file);
  fail("put train.bin and test.bin there, or train, test and meta of the Python version", "{}: has no {}",
       where.string(), file);
}

void read_batches(RawImages& raw, const fs::path& folder, const SourceRequest& request,
                  const Layout& layout) {
  const bool binary = is_file(folder / (layout.train[0] + ".bin")) ||
                      is_file(folder / (layout.test[0] + ".bin")) || !holds(folder, layout);
  for (const std::string& stem : layout.files(request)) {
    const fs::path file = folder / (stem + (binary ? ".bin" : ""));
    if (!is_file(file)) fail_missing(folder, layout, file.filename().string());
    append(raw, read_bytes(file), layout, file, file.string());
  }
  if (!binary && !layout.meta.empty() && is_file(folder / layout.meta))
    raw.classes =
        read_cifar_names(read_bytes(folder / layout.meta), layout.names_key, (folder / layout.meta).string());
}

// The wanted files by name, whatever folder of the archive they are in.
void read_set_archive(RawImages& raw, const fs::path& path, const SourceRequest& request,
                      const Layout& layout) {
  std::map<std::string, RawImages> parts;
  for (io::ArchiveMembers members(path, io::ArchiveFormat::tar, "use another copy of the file");
       members.next();) {
    const fs::path file = fs::path(members.path()).filename();
    const std::string stem = is_binary(file) ? file.stem().string() : file.string();
    const std::string name = path.string() + ": " + file.string();
    if (std::ranges::find(layout.files(request), stem) != layout.files(request).end()) {
      // Each is taken apart before the next is read.
      RawImages& part = parts[file.string()] = empty_set();
      append(part, members.rest(layout.largest_file()), layout, file, name);
    } else if (!layout.meta.empty() && file == layout.meta) {
      raw.classes = read_cifar_names(members.rest(kMaxAround), layout.names_key, name);
    }
  }
  for (const std::string& stem : layout.files(request)) {
    auto part = parts.extract(parts.contains(stem + ".bin") ? stem + ".bin" : stem);
    if (part.empty()) fail_missing(path, layout, stem + ".bin");
    join(raw, std::move(part.mapped()));
  }
}

RawImages read_set(const SourceRequest& request, const Layout& layout) {
  const fs::path path = resolve(request.path, layout);
  RawImages raw = empty_set();
  raw.classes = layout.class_names;
  raw.from = path.string();
  const bool archive = ends_with(path, {".tar", ".tar.gz", ".tgz"});
  if (fs::is_directory(path) || archive) raw.part = request.options.split;
  if (fs::is_directory(path))
    read_batches(raw, path, request, layout);
  else if (archive)
    read_set_archive(raw, path, request, layout);
  else
    append(raw, read_bytes(path), layout, path, path.string());
  cut(raw, request.limited(raw.shape.n));
  return fit(std::move(raw), request.options);
}

bool is_batch_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".bin") || name == "test_batch" ||
         (name.starts_with("data_batch_") && name.size() == 12 && name.back() >= '1' && name.back() <= '5');
}

}  // namespace

Source cifar10_source() {
  return {.name = "cifar10",
          .what = "60,000 RGB photographs, 32x32, 10 classes",
          .how_to_get = "put cifar-10-python.tar.gz or cifar-10-binary.tar.gz there, or the files in it",
          .folder = "cifar10",
          .files = "CIFAR-10 or CIFAR-100: the folder, the .tar.gz, or one file of it",
          .recognises =
              [](const fs::path& path) {
                return is_folder(path) ? is_set_folder(path, cifar10())
                                       : is_batch_name(path) || is_set_archive(path, cifar10());
              },
          .read = [](const SourceRequest& request) { return read_set(request, cifar10()); }};
}

Source cifar100_source() {
  return {.name = "cifar100",
          .what = "60,000 RGB photographs, 32x32, 100 classes",
          .how_to_get = "put cifar-100-python.tar.gz or cifar-100-binary.tar.gz there, or the files in it",
          .folder = "cifar100",
          .recognises =
              [](const fs::path& path) {
                return is_folder(path) ? is_set_folder(path, cifar100()) : is_set_archive(path, cifar100());
              },
          .read = [](const SourceRequest& request) { return read_set(request, cifar100()); }};
}

}  // namespace mdsm::data
