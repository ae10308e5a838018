// A folder of PNG and JPEG files, read recursively in the order of their names. Sub-folders train and test
// are the splits; root/class/* gives labels. Links to folders are not followed, and names that start with a
// dot are passed over.
#include "data/image_folder.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/threads.h"
#include "data/source.h"

namespace mdsm::data {
namespace {

fs::path split_root(const SourceRequest& request) {
  const fs::path& root = request.path;
  if (!fs::is_directory(root / "train") && !fs::is_directory(root / "test")) return root;
  const fs::path chosen = root / request.split();
  if (!fs::is_directory(chosen))
    fail(fmt::format("add it, or name {} itself to use it for both",
                     (root / (request.test() ? "train" : "test")).string()),
         "{}: has no sub-folder {}", root.string(), request.split());
  return chosen;
}

// Labels only where every image lies in a class folder.
void label_by_folder(RawImages& raw, const std::vector<fs::path>& files) {
  std::set<std::string> names;
  for (const auto& file : files) {
    if (!file.has_parent_path()) return;
    names.insert(file.begin()->string());
  }
  raw.classes.assign(names.begin(), names.end());
  for (const auto& file : files)
    raw.labels.push_back(static_cast<int32_t>(
        std::lower_bound(raw.classes.begin(), raw.classes.end(), file.begin()->string()) -
        raw.classes.begin()));
}

// A file that is no image, or not a whole one; as against one that does not fit the others.
struct DamagedImage : Error {
  using Error::Error;
};

// One image, fitted on its own; the padding of 28 to 32 pixels waits until all are known to be of one size.
RawImages read_one(const fs::path& path, DataOptions options) {
  if (options.pad < 0) options.pad = 0;
  image::Picture picture;
  try {
    picture = image::to_picture(image::read_image(path));
  } catch (const Error& error) {
    throw DamagedImage(error.kind(), error.message(), error.hint());
  }
  return fit(raw_image(std::move(picture), path.string()), options);
}

void check_same(const Shape& first, const Shape& shape, const std::string& first_name,
                const std::string& name) {
  if (first == shape) return;
  if (first.c != shape.c)
    fail("use --colour grey or --colour rgb", "{}: {} channel{} where {} has {}", name, shape.c,
         shape.c == 1 ? "" : "s", first_name, first.c);
  fail("use --crop or --resize to make all images the same size", "{}: {}x{} pixels where {} has {}x{}", name,
       shape.w, shape.h, first_name, first.w, first.h);
}

constexpr size_t kMaxNamed = 20;  // damaged files in one message

// What is wrong with the files that cannot be read, by their number.
using Damaged = std::map<size_t, std::string>;

std::string list(const Damaged& damaged) {
  std::string text;
  size_t named = 0;
  for (const auto& [number, what] : damaged) {
    if (named++ == kMaxNamed) return text + fmt::format("; and {} more", damaged.size() - kMaxNamed);
    text += (text.empty() ? "" : "; ") + what;
  }
  return text;
}

// Without the damaged ones, if that is what was asked for.
void leave_out(const Damaged& damaged, bool skip, RawImages& raw, std::vector<uint8_t>& values) {
  if (damaged.empty()) return;
  if (damaged.size() == 1 && !skip)
    fail("use another copy of it, or leave it out with --skip-damaged", "{}", damaged.begin()->second);
  if (!skip)
    fail("use other copies of them, or leave them out with --skip-damaged",
         "{} of {} images cannot be read: {}", damaged.size(), raw.shape.n, list(damaged));
  log_warning("{} of {} images cannot be read and are left out: {}", damaged.size(), raw.shape.n,
              list(damaged));
  const int64_t size = raw.shape.per_image();
  int64_t kept = 0;
  for (int64_t i = 0; i < raw.shape.n; ++i) {
    if (damaged.contains(static_cast<size_t>(i))) continue;
    std::copy_n(values.begin() + i * size, size, values.begin() + kept * size);
    if (!raw.labels.empty()) raw.labels[static_cast<size_t>(kept)] = raw.labels[static_cast<size_t>(i)];
    ++kept;
  }
  values.resize(static_cast<size_t>(kept * size));
  if (!raw.labels.empty()) raw.labels.resize(static_cast<size_t>(kept));
  raw.shape.n = kept;
}

}  // namespace

std::vector<fs::path> image_files(const fs::path& root) {
  std::vector<fs::path> files;
  try {
    for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
      if (it->path().filename().string().starts_with('.'))
        it.disable_recursion_pending();
      else if (is_image_name(it->path()) && it->is_regular_file())
        files.push_back(it->path().lexically_relative(root));
    }
  } catch (const fs::filesystem_error& error) {
    fail("check its permissions", "{}: cannot be listed: {}", root.string(), error.code().message());
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const auto& x, const auto& y) { return x.native() < y.native(); });
  });
  return files;
}

bool is_image_name(const fs::path& file) {
  std::string end = file.extension().string();
  std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return std::tolower(c); });
  return end == ".png" || end == ".jpg" || end == ".jpeg";
}

namespace {

// The first that can be read gives the size of all.
RawImages first_good(const fs::path& root, const std::vector<fs::path>& files, const DataOptions& options,
                     Damaged& damaged) {
  for (size_t i = 0; i < files.size(); ++i) try {
      return read_one(root / files[i], options);
    } catch (const DamagedImage& error) {
      damaged[i] = error.message();
    }
  if (files.size() == 1) fail("use another copy of the file", "{}", damaged.begin()->second);
  fail("use other files", "none of {} images can be read: {}", files.size(), list(damaged));
}

RawImages read_folder(const SourceRequest& request) {
  const bool single = !fs::is_directory(request.path);
  const fs::path root = single ? request.path.parent_path() : split_root(request);
  auto files = single ? std::vector{request.path.filename()} : image_files(root);
  if (files.empty())
    fail("name a folder with .png, .jpg or .jpeg files", "{}: no images in this folder", root.string());
  RawImages raw;
  raw.from = single ? request.path.string() : root.string();
  if (!single && root != request.path) raw.part = request.options.split;
  label_by_folder(raw, files);
  files.resize(static_cast<size_t>(request.limited(static_cast<int64_t>(files.size()))));
  raw.labels.resize(raw.labels.empty() ? 0 : files.size());

  Damaged damaged;
  const RawImages first = first_good(root, files, request.options, damaged);
  raw.shape = first.shape.with_n(static_cast<int64_t>(files.size()));
  std::vector<uint8_t> values(static_cast<size_t>(raw.shape.count()));
  std::mutex mutex;
  int64_t done = 0;
  Progress progress("reading images", raw.shape.n, "images");
  parallel_for(raw.shape.n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto number = static_cast<size_t>(i);
      try {
        const RawImages one = read_one(root / files[number], request.options);
        check_same(first.shape, one.shape, first.from, one.from);
        const auto& pixels = std::get<std::vector<uint8_t>>(one.values);
        std::copy(pixels.begin(), pixels.end(), values.data() + i * raw.shape.per_image());
      } catch (const DamagedImage& error) {
        const std::lock_guard lock(mutex);
        damaged[number] = error.message();
      }
      const std::lock_guard lock(mutex);
      progress.update(++done);
    }
  });
  leave_out(damaged, request.options.skip_damaged, raw, values);
  raw.values = std::move(values);
  DataOptions rest;  // only the automatic padding is left to do
  rest.pad = request.options.pad;
  return fit(std::move(raw), rest);
}

}  // namespace

Source image_folder_source() {
  return {.name = "images",
          .what = "PNG and JPEG files",
          .files = "a folder of PNG/JPEG (FOLDER/CLASS/*, FOLDER/train and FOLDER/test)",
          .recognises = [](const fs::path& path) { return is_folder(path) || is_image_name(path); },
          .read = read_folder};
}

}  // namespace mdsm::data
