// A folder of image files, read recursively in the order of their names. Sub-folders train and test are the
// splits; root/class/* gives labels. Links to folders are not followed.
#include "data/image_folder.h"

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "data/image_set.h"
#include "data/streamed_folder.h"

namespace mdsm::data {
namespace {

[[noreturn]] void fail_no_images(const fs::path& root, const FolderListing& listing) {
  std::string there;
  if (!listing.others.empty())
    there += fmt::format("; {} files of other kinds, as {}", listing.others.size(), listing.others.front());
  if (!listing.linked.empty()) there += fmt::format("; a link to a folder, {}", listing.linked.front());
  fail(fmt::format("name a folder with {} files", image_endings()), "{}: no images in this folder{}",
       root.string(), there);
}

RawImages read_folder(const SourceRequest& request) {
  const bool single = !fs::is_directory(request.path);
  const fs::path root = single ? request.path.parent_path() : split_root(request);
  auto files = single ? std::vector{request.path.filename()} : image_files(root);
  FolderLabels labels = labels_by_folder(files);
  files.resize(static_cast<size_t>(request.limited(static_cast<int64_t>(files.size()))));
  labels.labels.resize(labels.labels.empty() ? 0 : files.size());
  std::vector<EncodedImage> encoded;
  for (const fs::path& file : files)
    encoded.push_back({(root / file).string(), [path = root / file] { return read_bytes(path); }});
  ImageSetReader reader(request.options);
  {
    Progress progress("reading images", static_cast<int64_t>(files.size()), "images");
    reader.read(encoded, [&](int64_t done) { progress.update(done); });
  }
  RawImages raw = reader.finish(std::move(labels.labels));
  raw.classes = std::move(labels.classes);
  raw.from = single ? request.path.string() : root.string();
  if (!single && root != request.path) raw.part = request.options.split;
  return raw;
}

}  // namespace

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

FolderListing list_folder(const fs::path& root) {
  FolderListing found;
  try {
    for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
      const fs::path name = it->path().lexically_relative(root);
      if (it->path().filename().string().starts_with('.')) {
        it.disable_recursion_pending();
      } else if (it->is_directory()) {
        if (it->is_symlink()) found.linked.push_back(name.string());
      } else if (is_image_name(name) && it->is_regular_file()) {
        found.images.push_back(name);
      } else {
        found.others.push_back(name.string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    fail("check its permissions", "{}: cannot be listed: {}", root.string(), error.code().message());
  }
  std::ranges::sort(found.images, [](const auto& a, const auto& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const auto& x, const auto& y) { return x.native() < y.native(); });
  });
  std::ranges::sort(found.others);
  std::ranges::sort(found.linked);
  return found;
}

std::vector<fs::path> image_files(const fs::path& root) {
  FolderListing found = list_folder(root);
  if (found.images.empty()) fail_no_images(root, found);
  warn_left_out(root.string(), found.others);
  if (!found.linked.empty())
    log_warning("{}: {} linked folder{} not followed: {}; name {} as well, or copy {}", root.string(),
                found.linked.size(), found.linked.size() == 1 ? " is" : "s are",
                fmt::join(found.linked, ", "), found.linked.size() == 1 ? "it" : "them",
                found.linked.size() == 1 ? "it" : "them");
  return std::move(found.images);
}

Source image_folder_source() {
  return {.name = "images",
          .what = "image files",
          .files = "a folder of images (FOLDER/CLASS/*, FOLDER/train and FOLDER/test)",
          .recognises = [](const fs::path& path) { return is_folder(path) || is_image_name(path); },
          .read = read_folder,
          .open = open_streamed_if_large};
}

}  // namespace mdsm::data
