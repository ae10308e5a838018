// From the text of --data to a data set: the name of a source, NAME:PATH, or a path that a source recognises.
#include "data/dataset.h"

#include <new>

#include "core/error.h"
#include "data/channels.h"
#include "data/memory_dataset.h"
#include "data/sources.h"
#include "data/subset.h"

namespace mdsm::data {
namespace {

struct Resolved {
  const Source& source;
  fs::path path;
  bool by_name = false;
};

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

[[noreturn]] void fail_missing(const Source& source) {
  std::string folders;
  for (const auto& folder : search_folders(source))
    folders += (folders.empty() ? "" : ", ") + folder.string();
  fail(fmt::format("{}; or write {}:PATH", source.how_to_get, source.name), "{}: not found in {}",
       source.name, folders);
}

Resolved resolve_name(const Source& source) {
  if (!source.has_files()) return {source, {}, true};
  const auto folder = locate(source);
  if (!folder) fail_missing(source);
  return {source, *folder, true};
}

Resolved resolve(const std::string& text) {
  if (text.empty()) fail_usage(fmt::format("name one of {}, or a path", source_names()), "no data given");
  if (const Source* source = sources().find(text); source && source->has_name()) return resolve_name(*source);
  const size_t colon = text.find(':');
  if (const Source* source = sources().find(text.substr(0, colon));
      source && source->has_files() && colon != std::string::npos) {
    const fs::path path = text.substr(colon + 1);
    if (!is_there(path)) fail("check the path", "{}: no such file or folder", path.string());
    return {*source, path, true};
  }
  if (!is_there(text))
    fail(fmt::format("known sets are {}", source_names()),
         "{}: neither a known data set nor a path that exists", text);
  if (const Source* source = recognise(text)) return {*source, text};
  fail(fmt::format("give {}", fmt::join(file_kinds(), ", ")), "{}: no known kind of data file", text);
}

// "mnist train: "
std::string name_and_part(const Resolved& from, const RawImages& images) {
  if (!from.by_name) return "";
  return from.source.name + (images.part ? fmt::format(" {}", to_string(*images.part)) : "") + ": ";
}

void check(const DataOptions& options) {
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
  if (options.colour == Colour::apart) {
    DataOptions whole = options;
    whole.colour = Colour::keep;
    auto images = open_dataset(whole);
    if (images->image_shape().c == 1) return images;
    return std::make_unique<Channels>(std::move(images));
  }
  try {
    const Resolved from = resolve(options.source);
    if (from.source.open)
      if (auto images = from.source.open({from.path, options})) return images;
    RawImages images = from.source.read({from.path, options});
    if (images.shape.n < 1) fail("use another source", "{}: holds no images", images.from);
    if (!from.source.classes.empty() && !images.labels.empty()) images.classes = from.source.classes;
    const Shape& s = images.shape;
    std::string text = fmt::format("{}{} images, {} channel{}, {}x{}, from {}", name_and_part(from, images),
                                   s.n, s.c, s.c == 1 ? "" : "s", s.w, s.h, images.from);
    return std::make_unique<MemoryDataset>(std::move(images), std::move(text));
  } catch (const std::bad_alloc&) {
    fail("use --limit or --resize", "{}: the images do not fit in memory", options.source);
  } catch (const fs::filesystem_error& error) {
    fail("check the path and its permissions", "{}: {}", options.source, error.code().message());
  }
}

}  // namespace mdsm::data
