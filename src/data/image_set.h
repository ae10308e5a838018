// Encoded images (PNG, JPEG, ...) on their way into one set, whatever they lie in: each is decoded and fitted
// by itself, all must have one size, and those that are damaged are named.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/source.h"

namespace mdsm::data {

// By the end of its name: a kind of image that is read.
bool is_image_name(const fs::path& file);
// For people: ".png, .jpg, .jpeg, .tif, .tiff or .webp".
std::string image_endings();

// Says which files were not read because their names are not those of images: "3 .txt, 1 .gif (notes.txt,
// ...)".
void warn_left_out(const std::string& where, const std::vector<std::string>& names);

struct EncodedImage {
  std::string name;                               // for messages
  std::function<std::vector<std::byte>()> bytes;  // called once
};

// One image, decoded and fitted; the padding of 28 to 32 pixels is left to do when all are known to have one
// size. A damaged one throws DamagedImage.
struct DamagedImage : Error {
  using Error::Error;
};
RawImages read_encoded(const EncodedImage& image, const DataOptions& options);

class ImageSetReader {
 public:
  explicit ImageSetReader(const DataOptions& options) : options_(options) {}

  // So many more, in parallel; done is told how many are finished, of these.
  void read(const std::vector<EncodedImage>& images, const std::function<void(int64_t)>& done = {});

  // labels: one for each image that was given, or none. Throws when images are damaged, unless they are to be
  // left out, which a warning says.
  RawImages finish(std::vector<int32_t> labels);

 private:
  int64_t find_shape(const std::vector<EncodedImage>& images);
  void read_block(const std::vector<EncodedImage>& images, int64_t begin, int64_t end);
  void leave_out_damaged(RawImages& raw) const;

  const DataOptions& options_;
  int64_t given_ = 0;
  Shape shape_;                             // of one, once one could be read
  std::string first_;                       // its name
  std::vector<uint8_t> values_;             // of those that are not damaged
  std::map<int64_t, std::string> damaged_;  // what is wrong, by the image's number
};

// Class names in order and the number of each file's, from the first folder of its path; none where a file
// lies in no folder.
struct FolderLabels {
  std::vector<std::string> classes;
  std::vector<int32_t> labels;
};
FolderLabels labels_by_folder(const std::vector<fs::path>& files);

}  // namespace mdsm::data
