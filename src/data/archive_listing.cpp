#include "data/archive_listing.h"

#include <algorithm>

#include "core/error.h"
#include "core/memory.h"
#include "data/image_set.h"
#include "image/image.h"

namespace mdsm::data {

fs::path cleaned(const std::string& entry) { return fs::path(entry).lexically_normal().relative_path(); }

bool is_hidden(const fs::path& file) {
  return std::ranges::any_of(file, [](const fs::path& part) { return part.native().starts_with('.'); });
}

bool is_labels_file(const fs::path& file) { return file == "dataset.json"; }

uint64_t largest_image(const io::ArchiveMembers& members) {
  constexpr uint64_t kAnyImage = uint64_t{64} << 20, kMaxImage = uint64_t{256} << 20, kRatio = 10;
  return std::clamp(members.archive_bytes() * kRatio, kAnyImage, kMaxImage);
}

std::string key_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return (file.parent_path() / name.substr(0, name.find('.'))).string();
}

namespace {

// Large files of other kinds would take time for each look at the archive.
void check_large_image(io::ArchiveMembers& members, const fs::path& path) {
  constexpr uint64_t kLarge = uint64_t{16} << 20;
  if (members.size() <= kLarge) return;
  if (members.size() > largest_image(members))
    fail("check that it is the right file", "{}: {} of {}", path.string(), members.path(),
         bytes_text(static_cast<double>(members.size())));
  std::vector<std::byte> start(image::kImageStart);
  members.read(start);
  if (!image::begins_as_image(start))
    fail("use another copy of it, or leave it out with --skip-damaged",
         "{}: {}: neither PNG nor JPEG, TIFF or WebP", path.string(), members.path());
}

ArchiveListing list(const fs::path& path, bool skip_damaged) {
  ArchiveListing found;
  for (io::ArchiveMembers members(path); members.next();) {
    const fs::path file = cleaned(members.path());
    if (is_hidden(file)) continue;
    if (is_image_name(file)) {
      if (!skip_damaged) check_large_image(members, path);
      found.images.push_back(file);
      ++found.all_images;
    } else if (file.extension() == ".cls") {
      found.classes.insert(key_of(file));
    } else if (is_labels_file(file)) {
      found.has_labels = true;
    } else {
      found.others.push_back(file.string());
    }
  }
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
    listings.push_back(list(path, request.options.skip_damaged));
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
