#include "data/streamed_folder.h"

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "data/image_folder.h"
#include "data/image_set.h"

namespace mdsm::data {
namespace {

class StreamedFolder : public Dataset {
 public:
  StreamedFolder(const SourceRequest& request, fs::path root, std::vector<fs::path> files)
      : options_(request.options),
        root_(std::move(root)),
        files_(std::move(files)),
        labels_(labels_by_folder(files_)) {
    if (root_ != request.path) part_ = options_.split;
    files_.resize(static_cast<size_t>(request.limited(static_cast<int64_t>(files_.size()))));
    shape_ = image(0).shape;
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  Shape image_shape() const override { return shape_; }
  int label(int64_t index) const override {
    return labels_.labels.empty() ? -1 : labels_.labels[static_cast<size_t>(index)];
  }
  std::vector<std::string> class_names() const override { return labels_.classes; }
  std::optional<Split> part() const override { return part_; }
  bool eight_bit() const override { return true; }
  std::string description() const override {
    return fmt::format("{} images, {} channel{}, {}x{}, read from {} as they are needed", size(), shape_.c,
                       shape_.c == 1 ? "" : "s", shape_.w, shape_.h, root_.string());
  }
  void read(int64_t index, std::span<float> out) const override {
    if (index < 0 || index >= size())
      fail(fmt::format("it holds {} images", size()), "{}: no image {}", root_.string(), index);
    const RawImages one = image(index);
    if (one.shape != shape_)
      fail("use --crop, --resize and --colour to make all images alike",
           "{}: an image of {} where the first is {}", one.from, one.shape.text(), shape_.text());
    std::ranges::transform(std::get<std::vector<uint8_t>>(one.values), out.begin(),
                           [](uint8_t value) { return static_cast<float>(value) / 255.0f; });
  }

 private:
  RawImages image(int64_t index) const {
    const fs::path path = root_ / files_[static_cast<size_t>(index)];
    DataOptions rest;
    rest.pad = options_.pad;
    return fit(read_encoded({path.string(), [&] { return read_bytes(path); }}, options_), rest);
  }

  DataOptions options_;
  fs::path root_;
  std::vector<fs::path> files_;
  FolderLabels labels_;
  std::optional<Split> part_;
  Shape shape_;
};

void check(const SourceRequest& request) {
  if (request.options.skip_damaged)
    fail_usage("remove the damaged files",
               "--skip-damaged has no meaning for images that are read as they are needed");
}

}  // namespace

std::unique_ptr<Dataset> open_streamed(const SourceRequest& request) {
  check(request);
  if (!fs::is_directory(request.path))
    fail("name a folder of images", "{}: no folder", request.path.string());
  const fs::path root = split_root(request);
  return std::make_unique<StreamedFolder>(request, root, image_files(root));
}

std::unique_ptr<Dataset> open_streamed_if_large(const SourceRequest& request) {
  if (!fs::is_directory(request.path)) return nullptr;
  const fs::path root = split_root(request);
  FolderListing listing = list_folder(root);
  if (listing.images.empty()) return nullptr;
  Shape shape;
  try {
    shape = read_encoded(
                {(root / listing.images[0]).string(), [&] { return read_bytes(root / listing.images[0]); }},
                request.options)
                .shape;
  } catch (const Error&) {
    return nullptr;  // reading says what is wrong
  }
  const auto need =
      static_cast<size_t>(request.limited(static_cast<int64_t>(listing.images.size())) * shape.per_image());
  const size_t available = available_memory();
  if (available == 0 || need <= available / 2) return nullptr;
  check(request);
  log_info(
      "{}: {} images would need {} of memory, {} are available: they are read from the disk as they are "
      "needed",
      root.string(), listing.images.size(), bytes_text(need), bytes_text(available));
  return open_streamed(request);
}

Source streamed_folder_source() {
  return {.name = "stream",
          .what = "a folder of images that stay on the disk",
          .files = {},
          .only_by_name = true,
          .recognises = [](const fs::path& path) { return is_folder(path); },
          .open = open_streamed};
}

}  // namespace mdsm::data
