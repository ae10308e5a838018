// Pictures that a command works on one by one: files and folders as they were named, or the images of a data
// set. Nothing is read before it is asked for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/dataset.h"
#include "image/picture.h"

namespace mdsm::data {

struct Pictures {
  std::vector<fs::path> names;      // for outputs: relative, without extension
  std::vector<std::string> labels;  // for messages: where each comes from
  std::vector<bool> in_folder;      // found in a folder, not named itself
  std::function<image::Picture(size_t)> read;

  size_t size() const { return names.size(); }
  // Of the file that a result goes to: a TIFF file's result is one, others are PNG files.
  std::string ending(size_t picture) const {
    const fs::path from = labels[picture];
    return image::is_tiff_name(from) ? from.extension().string() : ".png";
  }
};

// Refuses pictures of one name, whose results would be one file.
void check_different(const Pictures& pictures);

// paths: image files, which keep their names, and folders, whose files keep theirs below the folder. limit:
// only the first so many; 0 = all.
Pictures list_pictures(const std::vector<std::string>& paths, int64_t limit = 0);

// Without those of a folder that cannot be read; what is wrong with them goes to `damaged`.
Pictures readable(Pictures pictures, std::vector<std::string>& damaged);

// The images of a data set (1 or 3 channels), named by the set and their number. Floats stay floats.
Pictures pictures_of(std::shared_ptr<const Dataset> dataset, const DataOptions& options);

}  // namespace mdsm::data
