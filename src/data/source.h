// What a source of images hands to open_dataset(), and the readers: one function and one file per format.
// Internal to src/data. A reader returns images that are already fitted (crop, resize, pad, colour).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/files.h"
#include "data/dataset.h"

namespace mdsm::data {

struct RawImages {
  Shape shape;                                                    // n images
  std::variant<std::vector<uint8_t>, std::vector<float>> values;  // N,C,H,W
  std::vector<int32_t> labels;                                    // one per image, or none at all
  std::vector<std::string> classes;  // names of the labels 0, 1, ...; may be empty
  std::string from;                  // the file or folder it was read from
  std::string part;                  // train or test; empty where the source has no parts
};

struct SourceRequest {
  fs::path path;  // a file or a folder, existing
  DataOptions options;

  bool test() const { return options.split == "test"; }
  int64_t limited(int64_t count) const {
    return options.limit > 0 && options.limit < count ? options.limit : count;
  }
};

RawImages read_idx(const SourceRequest& request);            // MNIST's format, plain or gzip
RawImages read_cifar10(const SourceRequest& request);        // .bin, a folder of them, or a tar archive
RawImages read_svhn(const SourceRequest& request);           // *_32x32.mat or a folder with them
RawImages read_folder(const SourceRequest& request);         // PNG and JPEG, recursively; or one image file
RawImages read_npy_images(const SourceRequest& request);     // .npy
RawImages read_stacked_mnist(const SourceRequest& request);  // three digits as three channels

// Images of an idx source before fitting, for sources made from others.
RawImages read_idx_unfitted(const SourceRequest& request);

// Applies crop, resize, pad and colour to every image.
RawImages fit(RawImages images, const DataOptions& options);

// True where the folder holds files of the format, so that a bare path can be told apart.
bool is_idx_folder(const fs::path& folder);
bool is_cifar10_folder(const fs::path& folder);
bool is_svhn_folder(const fs::path& folder);
bool is_image_name(const fs::path& file);
// PNG and JPEG files below a folder, in the order of their names, relative to it.
std::vector<fs::path> image_files(const fs::path& root);

// 0 .. 9 as names.
std::vector<std::string> digit_names();

}  // namespace mdsm::data
