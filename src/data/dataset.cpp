// From the text of --data to a data set: a known name, NAME:PATH, or a path whose kind shows in its name and
// content.
#include "data/dataset.h"

#include <zlib.h>

#include <new>

#include "core/error.h"
#include "data/channels.h"
#include "data/known_sets.h"
#include "data/memory_dataset.h"
#include "data/source.h"
#include "data/subset.h"

namespace mdsm::data {
namespace {

using Reader = RawImages (*)(const SourceRequest&);

struct Resolved {
  Reader read = nullptr;
  fs::path path;
  const KnownSet* set = nullptr;  // where the source is known by name
};

std::string names_of_sets() {
  std::string names;
  for (const auto& set : known_sets()) names += (names.empty() ? "" : ", ") + set.name;
  return names;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Reader reader_of(const KnownSet& set) {
  if (set.name == "stacked-mnist") return read_stacked_mnist;
  if (set.name == "cifar10") return read_cifar10;
  return set.name == "svhn" ? read_svhn : read_idx;
}

[[noreturn]] void fail_missing(const KnownSet& set) {
  std::string folders;
  for (const auto& folder : search_folders(set)) folders += (folders.empty() ? "" : ", ") + folder.string();
  fail(fmt::format("{}; or write {}:PATH", set.how_to_get, set.name), "{}: not found in {}", set.name,
       folders);
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() > end.size() && std::string_view(text).substr(text.size() - end.size()) == end;
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

Reader detect_file(const fs::path& path) {
  const std::string name = path.filename().string();
  if (ends_with(name, ".npy")) return read_npy_images;
  if (ends_with(name, ".mat")) return read_svhn;
  for (const char* end : {".bin", ".tar", ".tar.gz", ".tgz"})
    if (ends_with(name, end)) return read_cifar10;
  if (is_image_name(path)) return read_folder;
  if (name.find("idx3") != std::string::npos || has_idx_magic(path)) return read_idx;
  fail("give an idx, .npy, .mat, CIFAR-10 .bin or .tar.gz, PNG or JPEG file, or a folder",
       "{}: no known kind of data file", path.string());
}

Reader detect_folder(const fs::path& path) {
  if (is_idx_folder(path)) return read_idx;
  if (is_cifar10_folder(path)) return read_cifar10;
  return is_svhn_folder(path) ? read_svhn : read_folder;
}

Resolved resolve(const std::string& source) {
  if (source.empty()) fail_usage(fmt::format("name one of {}, or a path", names_of_sets()), "no data given");
  if (const KnownSet* set = find_known_set(source)) {
    const auto folder = locate(*set);
    if (!folder) fail_missing(*set);
    return {reader_of(*set), *folder, set};
  }
  const size_t colon = source.find(':');
  if (const KnownSet* set = find_known_set(source.substr(0, colon)); set && colon != std::string::npos) {
    const fs::path path = source.substr(colon + 1);
    if (!is_there(path)) fail("check the path", "{}: no such file or folder", path.string());
    return {reader_of(*set), path, set};
  }
  const fs::path path = source;
  if (!is_there(path))
    fail(fmt::format("known sets are {}", names_of_sets()),
         "{}: neither a known data set nor a path that exists", source);
  return {fs::is_directory(path) ? detect_folder(path) : detect_file(path), path, nullptr};
}

void check(const DataOptions& options) {
  if (options.split != "train" && options.split != "test")
    fail_usage("use train or test", "'{}' is not a split", options.split);
  if (options.colour != "keep" && options.colour != "grey" && options.colour != "rgb" &&
      options.colour != "apart")
    fail_usage("use keep, grey, rgb or apart", "'{}' is not a colour", options.colour);
  if (options.limit < 0 || options.crop < 0 || options.resize < 0 || options.pad < -1)
    fail_usage("use 0 or more", "a negative limit or size");
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(const DataOptions& options) {
  check(options);
  if (options.random_limit && options.limit > 0) {
    DataOptions all = options;
    all.limit = 0;
    auto whole = open_dataset(all);
    if (options.limit >= whole->size()) return whole;
    return std::make_unique<Subset>(random_subset(std::move(whole), options.limit, options.seed));
  }
  if (options.colour == "apart") {
    DataOptions whole = options;
    whole.colour = "keep";
    auto images = open_dataset(whole);
    if (images->image_shape().c == 1) return images;
    return std::make_unique<Channels>(std::move(images));
  }
  try {
    const Resolved source = resolve(options.source);
    RawImages images = source.read({source.path, options});
    if (images.shape.n < 1) fail("use another source", "{}: holds no images", images.from);
    if (source.set && !source.set->classes.empty() && !images.labels.empty())
      images.classes = source.set->classes;
    const Shape& s = images.shape;
    std::string text = fmt::format(
        "{}{} images, {} channel{}, {}x{}, from {}",
        source.set ? source.set->name + (images.part.empty() ? "" : " " + images.part) + ": " : "", s.n, s.c,
        s.c == 1 ? "" : "s", s.w, s.h, images.from);
    return std::make_unique<MemoryDataset>(std::move(images), std::move(text));
  } catch (const std::bad_alloc&) {
    fail("use --limit or --resize", "{}: the images do not fit in memory", options.source);
  } catch (const fs::filesystem_error& error) {
    fail("check the path and its permissions", "{}: {}", options.source, error.code().message());
  }
}

}  // namespace mdsm::data
