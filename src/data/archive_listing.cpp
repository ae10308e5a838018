#include "data/archive_listing.h"

#include <algorithm>

#include "core/error.h"
#include "data/image_set.h"
#include "io/archive.h"

namespace mdsm::data {

fs::path cleaned(const std::string& entry) { return fs::path(entry).lexically_normal().relative_path(); }

bool is_hidden(const fs::path& file) {
  return std::ranges::any_of(file, [](const fs::path& part) { return part.native().starts_with('.'); });
}

bool is_labels_file(const fs::path& file) { return file == "dataset.json"; }

std::string key_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return (file.parent_path() / name.substr(0, name.find('.'))).string();
}

namespace {

ArchiveListing list(const fs::path& path) {
  ArchiveListing found;
  io::ArchiveEntries entries;
  entries.format = io::archive_format(path);
  entries.name = [&](const std::string& entry) -> std::string {
    const fs::path file = cleaned(entry);
    if (is_hidden(file)) return "";
    if (is_image_name(file))
      found.images.push_back(file);
    else if (file.extension() == ".cls")
      found.classes.insert(key_of(file));
    else if (is_labels_file(file))
      found.has_labels = true;
    else
      found.others.push_back(file.string());
    return "";
  };
  io::for_each_entry(path, entries, {});
  return found;
}

// Keeps the images of one part where the archive has folders train or test, and takes that folder off their
// names.
bool choose_part(std::vector<fs::path>& images, const SourceRequest& request) {
  const auto in = [](const fs::path& file, const std::string& folder) {
    return file.has_parent_path() && *file.begin() == folder;
  };
  if (std::ranges::none_of(images,
                           [&](const fs::path& file) { return in(file, "train") || in(file, "test"); }))
    return false;
  std::erase_if(images, [&](const fs::path& file) { return !in(file, request.split()); });
  if (images.empty())
    fail("use the other part", "{}: has no images in {}/", request.path.string(), request.split());
  return true;
}

}  // namespace

std::vector<ArchiveListing> list_archives(const std::vector<fs::path>& archives, const SourceRequest& request,
                                          bool& parts) {
  std::vector<ArchiveListing> listings;
  for (const fs::path& path : archives) {
    listings.push_back(list(path));
    if (listings.back().images.empty())
      fail(fmt::format("give an archive with {} files", image_endings()), "{}: no images in this archive{}",
           path.string(),
           listings.back().others.empty()
               ? ""
               : fmt::format("; {} other files, as {}", listings.back().others.size(),
                             listings.back().others[0]));
    warn_left_out(path.string(), listings.back().others);
    parts |= choose_part(listings.back().images, request);
  }
  return listings;
}

}  // namespace mdsm::data
