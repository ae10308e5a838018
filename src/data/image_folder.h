// Image files in folders.
#pragma once

#include <string>
#include <vector>

#include "core/files.h"
#include "data/source.h"

namespace mdsm::data {

struct FolderListing {
  std::vector<fs::path> images;     // relative to the folder, in the order of their names
  std::vector<std::string> others;  // files that are no images by their names
  std::vector<std::string> linked;  // folders behind links, which are not followed
};
// What is below a folder. Names that start with a dot are passed over.
FolderListing list_folder(const fs::path& root);
// The folder of the part that was asked for: train or test below it, or the folder itself.
fs::path split_root(const SourceRequest& request);
// The images; a warning says what else is there, an error that there are none.
std::vector<fs::path> image_files(const fs::path& root);

}  // namespace mdsm::data
