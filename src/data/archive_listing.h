// What is in an archive of images, by names. Internal to src/data.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "data/source.h"
#include "io/archive.h"

namespace mdsm::data {

struct ArchiveListing {
  std::vector<fs::path> images;
  size_t all_images = 0;  // those of other parts, too
  std::vector<std::string> others;
  std::set<std::string> classes;  // keys that have a .cls file
  bool has_labels = false;        // in dataset.json
};

// parts: becomes true where archives have folders train or test; the listings are then those of the request's
// part. Fails where an archive has no images; files that are none are named.
std::vector<ArchiveListing> list_archives(const std::vector<fs::path>& archives, const SourceRequest& request,
                                          bool& parts);

// Bytes of one image in an archive. Images hardly get smaller in it, so one of more than 64 MB needs a large
// archive.
uint64_t largest_image(const io::ArchiveMembers& members);
// Without the "./" that tar writes, and never absolute.
fs::path cleaned(const std::string& entry);
bool is_hidden(const fs::path& file);
bool is_labels_file(const fs::path& file);
// WebDataset's: everything up to the first dot of the file's own name.
std::string key_of(const fs::path& file);

}  // namespace mdsm::data
